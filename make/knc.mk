# Programs for a Knights Corner card, from target-stub/knc. The agent is static and needs no library. For a real card:
# `make knc KNC_CC=k1om-mpss-linux-gcc`.

KNC_CC    ?= $(CC)
KNC_SRC   := $(addprefix target-stub/knc/,agent.c options.c registers.c session.c sys.c)
KNC_FLAGS := -std=gnu99 -Os -Wall -Wextra -Werror -ffreestanding -fno-builtin -fno-stack-protector -static -nostdlib

$(BUILD)/knc/msr-agent: $(KNC_SRC) $(wildcard target-stub/knc/*.h) make/knc.mk
	@mkdir -p $(@D)
	$(KNC_CC) $(KNC_FLAGS) -s $(KNC_SRC) -o $@

knc: $(BUILD)/knc/msr-agent
check-build: knc

.PHONY: knc

# Its fuzz target. It links the agent's sources only.
FUZZ_KNC_SRC := tests/fuzz/fuzz_knc_agent.c target-stub/knc/session.c target-stub/knc/registers.c

$(BUILD)/fuzz/fuzz_knc_agent: $(FUZZ_KNC_SRC) $(wildcard target-stub/knc/*.h) make/knc.mk
	@mkdir -p $(@D)
	clang $(CSTD) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -O1 -g -Itarget-stub/knc $(FUZZ_KNC_SRC) -o $@

$(BUILD)/replay/fuzz_knc_agent.o: $(BUILD)/replay/%.o: $(FUZZ_KNC_SRC) $(wildcard target-stub/knc/*.h) make/knc.mk make/fuzz.mk
	@mkdir -p $(@D)
	$(REPLAY_CC) -Itarget-stub/knc $(REPLAY_ALONE)
