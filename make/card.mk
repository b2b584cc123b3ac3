# A model of a Xeon Phi's threads as /dev/cpu/N/msr, for the tests. It uses no source of probe/.

CARD_SRC := $(sort $(wildcard tests/card/*.c))
CARD_OBJ := $(CARD_SRC:tests/card/%.c=$(BUILD)/obj-card/%.o)

$(BUILD)/obj-card/%.o: tests/card/%.c Makefile make/card.mk
	@mkdir -p $(@D)
	$(HOST_CC) $$(pkg-config --cflags fuse3) -MMD -MP -c $< -o $@

$(BUILD)/card: $(CARD_OBJ)
	$(call say,LD)$(CC) $(CFLAGS) $(LDFLAGS) $^ $$(pkg-config --libs fuse3) -o $@

card: $(BUILD)/card
check-build: card

-include $(CARD_OBJ:.o=.d)

.PHONY: card

# A program on the card that measures itself
$(BUILD)/clients/knc-ring3: $(CLIENT_SRC)/knc_ring3.c target-stub/knc/pmu_knc.h make/card.mk
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=gnu99 -D_GNU_SOURCE $(WARN) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -Itarget-stub/knc $< -o $@
card: $(BUILD)/clients/knc-ring3
