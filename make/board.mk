# The virtual board: a program of its own, built without anything of probe/ so that the two cannot share a mistake.

BOARD_SRC  := $(sort $(wildcard tests/board/*.c tests/board/[!f]*/*.c) tests/board/front/bitbang.c tests/board/front/jtag.c)
BOARD_OBJ  := $(BOARD_SRC:tests/board/%.c=$(BUILD)/obj-board/%.o)
BOARD_PKGS := unicorn libelf

$(BUILD)/obj-board/%.o: tests/board/%.c Makefile make/board.mk
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) $(CFLAGS) -Itests/board $$(pkg-config --cflags $(BOARD_PKGS)) -MMD -MP -c $< -o $@

$(BUILD)/board: $(BOARD_OBJ)
	$(CC) $(CFLAGS) $^ $$(pkg-config --libs $(BOARD_PKGS)) -o $@

board: $(BUILD)/board

-include $(BOARD_OBJ:.o=.d)

.PHONY: board
