# `make demo`: the main job on the virtual board, behind a real OpenOCD, with real firmware.

demo:
	@begun=$$(date +%s); $(MAKE) --no-print-directory deps && installed=$$(date +%s) && \
	$(MAKE) -s -j2 $(BUILD)/pmu-probe board firmware && \
	PMU_BUILD=$(BUILD) tests/demo.sh && \
	echo && echo "demo: $$((installed - begun)) s to install what was missing, $$(($$(date +%s) - installed)) s to build and run"

# The live screen of `watch`, and the session in GDB, in README.md
capture: deps
	$(MAKE) -s -j2 $(BUILD)/pmu-probe $(BUILD)/asan/pmu-probe board firmware
	PMU_BUILD=$(BUILD) $(PYTHON) tests/capture.py
.PHONY: capture
