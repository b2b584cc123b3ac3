# `make demo`: the main job on the virtual board through a real OpenOCD, with real firmware. Most of its time is the
# compiler's: so it builds only what tests/demo.sh runs, in its own folder and not optimized. CI shows the tool as users
# have it: `make demo DEMO_FLAGS='-O2 -g'`.

DEMO_FLAGS ?= -O0
DEMO := $(TOOL) $(BUILD)/board $(BUILD)/clients/quick-reads.so $(BUILD)/firmware/rp2040-free.elf $(BUILD)/firmware/a9-free.elf

demo:
	@begun=$$(date +%s); $(MAKE) --no-print-directory deps-demo && installed=$$(date +%s) && \
	$(MAKE) -s $(JOBS) BUILD=$(BUILD)/demo CFLAGS='$(DEMO_FLAGS)' BOARD_FLAGS=-O1 demo-shown && \
	echo && echo "demo: $$((installed - begun)) s to install what was missing, $$(($$(date +%s) - installed)) s to build and run"

demo-shown: $(DEMO)
	PMU_BUILD=$(BUILD) PMU_TOOL=$(TOOL) tests/demo.sh

# The boards of README and docs/, to try the commands of the pages on, until Ctrl-C
play:
	@$(MAKE) --no-print-directory deps-demo && $(MAKE) -s $(JOBS) $(DEMO) $(BUILD)/firmware/m4-free.elf && PMU_BUILD=$(BUILD) PMU_TOOL=$(TOOL) exec setpriv --pdeathsig TERM tests/play.sh
.PHONY: play demo-shown

# What the pages show: commands and their output, the live screens, the session in docs/gdb.md
capture: deps
	$(MAKE) -s $(JOBS) $(BUILD)/pmu-probe $(BUILD)/asan/pmu-probe board firmware
	PMU_BUILD=$(BUILD) $(PYTHON) tests/capture.py
.PHONY: capture

# docs/pictures: screens and a page, from runs on the virtual board
pictures: deps
	$(MAKE) -s $(JOBS) $(BUILD)/pmu-probe $(BUILD)/asan/pmu-probe board firmware
	PMU_BUILD=$(BUILD) $(PYTHON) tests/pictures.py
.PHONY: pictures
