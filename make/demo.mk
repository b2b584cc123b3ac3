# `make demo`: the main job on the virtual board, behind a real OpenOCD, with real firmware. It builds only what
# tests/demo.sh runs.

DEMO := $(BUILD)/pmu-probe $(BUILD)/board $(BUILD)/clients/quick-reads.so $(BUILD)/firmware/rp2040-free.elf $(BUILD)/firmware/a9-free.elf

demo:
	@begun=$$(date +%s); $(MAKE) --no-print-directory deps-demo && installed=$$(date +%s) && \
	$(MAKE) -s -j2 $(DEMO) && \
	PMU_BUILD=$(BUILD) tests/demo.sh && \
	echo && echo "demo: $$((installed - begun)) s to install what was missing, $$(($$(date +%s) - installed)) s to build and run"

# A board and an OpenOCD to try commands on, until Ctrl-C
play:
	@$(MAKE) --no-print-directory deps-demo && $(MAKE) -s -j2 $(DEMO) && PMU_BUILD=$(BUILD) tests/play.sh
.PHONY: play

# The live screen of `watch` in docs/counting.md, and the session in docs/gdb.md
capture: deps
	$(MAKE) -s -j2 $(BUILD)/pmu-probe $(BUILD)/asan/pmu-probe board firmware
	PMU_BUILD=$(BUILD) $(PYTHON) tests/capture.py
.PHONY: capture
