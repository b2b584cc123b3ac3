# The virtual board. It uses no source of probe/, so that the two cannot share a mistake.

BOARD_SRC  := $(sort $(wildcard tests/board/*.c tests/board/[!f]*/*.c) tests/board/front/bitbang.c tests/board/front/jtag.c)
BOARD_OBJ  := $(BOARD_SRC:tests/board/%.c=$(BUILD)/obj-board/%.o)
BOARD_PKGS := unicorn libelf fuse3
BOARD_INC   = $(or $(board_inc),$(eval board_inc := $(shell pkg-config --cflags $(BOARD_PKGS)))$(board_inc))
# The tests start it thousands of times: with Unicorn's archive, and at a fixed address, a start takes a fifth of the time
UNICORN_A   = $(wildcard $(shell pkg-config --variable=libdir unicorn)/libunicorn.a)
BOARD_LIBS  = $(if $(UNICORN_A),$(UNICORN_A) -lm $(shell pkg-config --libs $(filter-out unicorn,$(BOARD_PKGS))),\
                $(shell pkg-config --libs $(BOARD_PKGS)))

# It executes firmware: a build that is not optimized otherwise, the demo's, optimizes it all the same
$(BOARD_OBJ): override CFLAGS += $(BOARD_FLAGS)
$(BUILD)/obj-board/%.o: tests/board/%.c Makefile make/board.mk
	@mkdir -p $(@D)
	$(HOST_CC) -Itests/board $(BOARD_INC) -MMD -MP -c $< -o $@

$(BUILD)/board: $(BOARD_OBJ)
	$(call say,LD)$(CC) $(CFLAGS) $(LDFLAGS) -no-pie -pthread $^ $(BOARD_LIBS) -o $@

# Clients that play other programs when the board's probe is on USB
CLIENT_SRC := tests/system/clients
CLIENTS    := $(addprefix $(BUILD)/clients/,usb-client hid-client hid-client-libusb)

$(BUILD)/clients/usb-client: $(CLIENT_SRC)/usb_client.c
$(BUILD)/clients/hid-client $(BUILD)/clients/hid-client-libusb: $(CLIENT_SRC)/hid_client.c
$(BUILD)/clients/usb-client: CLIENT_PKG := libusb-1.0
$(BUILD)/clients/hid-client: CLIENT_PKG := hidapi-hidraw
$(BUILD)/clients/hid-client-libusb: CLIENT_PKG := hidapi-libusb
$(CLIENTS): $(CLIENT_SRC)/client.c $(CLIENT_SRC)/client.h make/board.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(LDFLAGS) $(filter %.c,$^) $$(pkg-config --libs $(CLIENT_PKG)) -o $@

# What the tests preload into OpenOCD
$(BUILD)/clients/quick-reads.so: $(CLIENT_SRC)/quick_reads.c make/board.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(LDFLAGS) -shared -fPIC $< -o $@

board: $(BUILD)/board $(CLIENTS) $(BUILD)/clients/quick-reads.so

# Its debug port alone
BOARD_ADI := $(addprefix tests/board/,adi.c debug_space.c device/coresight.c bus.c)

# The fuzz target of its command processor. It links the board's sources only.
FUZZ_BOARD_SRC := tests/fuzz/fuzz_board_dap.c $(BOARD_ADI) tests/board/front/jtag.c \
                  $(wildcard tests/board/wire/*.c) $(filter-out tests/board/dap/tcp.c,$(wildcard tests/board/dap/*.c))

$(BUILD)/fuzz/fuzz_board_dap: $(FUZZ_BOARD_SRC) $(wildcard tests/board/*.h tests/board/*/*.h) Makefile make/board.mk
	@mkdir -p $(@D)
	clang $(CSTD) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -O1 -g -Itests/board $(FUZZ_BOARD_SRC) -o $@

$(BUILD)/replay/fuzz_board_dap.o: $(BUILD)/replay/%.o: $(FUZZ_BOARD_SRC) $(wildcard tests/board/*.h tests/board/*/*.h) Makefile \
                                  make/board.mk make/fuzz.mk
	@mkdir -p $(@D)
	$(REPLAY_CC) -Itests/board $(REPLAY_ALONE)

-include $(BOARD_OBJ:.o=.d)

.PHONY: board
