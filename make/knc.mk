# Programs for a Knights Corner card, from target-stub/knc. The agent is static and needs no library. For a real card:
# `make knc KNC_CC=k1om-mpss-linux-gcc`.

KNC_CC    ?= $(CC)
KNC_SRC   := $(addprefix target-stub/knc/,agent.c options.c registers.c session.c state.c sys.c)
KNC_FLAGS := -std=gnu99 -Os -Wall -Wextra $(ERRORS) -ffreestanding -fno-builtin -nostdlib
# Hardened as far as a program without a library goes, if the compiler and linker can: its own canary (sys.c), and a place that
# is different each time, which needs code without relocations. Not _FORTIFY_SOURCE, which is the C library's; not
# -fcf-protection, as no card has that. MPSS' compiler knows neither: there it is at a fixed place and has no canary.
knc_can     = $(shell echo 'void _start(void){} unsigned long __stack_chk_guard; void __stack_chk_fail(void){}' | \
                $(KNC_CC) -nostdlib -Werror $(1) -x c -o /dev/null - 2>/dev/null && echo '$(1)')
KNC_CANARY  = $(or $(call knc_can,-fstack-protector-strong -mstack-protector-guard=global),-fno-stack-protector)
KNC_PLACE   = $(or $(call knc_can,-fPIE -pie -Wl$(comma)--no-dynamic-linker$(comma)-z$(comma)text),-static)
KNC_HARDEN  = $(KNC_CANARY) $(KNC_PLACE) -Wl,-z,noexecstack
comma      := ,

$(BUILD)/knc/msr-agent: $(KNC_SRC) $(wildcard target-stub/knc/*.h) make/knc.mk
	@mkdir -p $(@D)
	$(call say,CC)$(KNC_CC) $(KNC_FLAGS) $(KNC_HARDEN) -s $(KNC_SRC) -o $@

knc: $(BUILD)/knc/msr-agent
check-build: knc

.PHONY: knc

# Its fuzz targets. They link the agent's sources only.
FUZZ_KNC_SRC := $(addprefix target-stub/knc/,session.c registers.c state.c)

$(BUILD)/fuzz/fuzz_knc_agent $(BUILD)/fuzz/fuzz_knc_state: $(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_KNC_SRC) $(wildcard target-stub/knc/*.h) make/knc.mk
	@mkdir -p $(@D)
	clang $(CSTD) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -O1 -g -Itarget-stub/knc $(filter %.c,$^) -o $@

$(BUILD)/replay/fuzz_knc_agent.o $(BUILD)/replay/fuzz_knc_state.o: $(BUILD)/replay/%.o: tests/fuzz/%.c $(FUZZ_KNC_SRC) $(wildcard target-stub/knc/*.h) make/knc.mk make/fuzz.mk
	@mkdir -p $(@D)
	$(REPLAY_CC) -Itarget-stub/knc $(REPLAY_ALONE)
