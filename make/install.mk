# `make install`: the tool, its manual page and completions, OpenOCD's part of it where `-f pico.cfg` finds it, the udev
# rules that let users open a probe, and what CMake and Python import. `make uninstall`.

SHARE := $(DESTDIR)$(PREFIX)/share/pmu-probe
# udev reads no rules below /usr/local
UDEV_RULES ?= $(if $(filter /usr/local,$(PREFIX)),/etc,$(PREFIX)/lib)/udev/rules.d
UDEV_READS := /etc/udev/rules.d /usr/lib/udev/rules.d /lib/udev/rules.d /run/udev/rules.d
UDEV_RULE  := $(UDEV_RULES)/60-pmu-probe.rules

MANUAL     := $(DESTDIR)$(PREFIX)/share/man/man1/pmu-probe.1
# bash loads a command's completion by the command's name
COMPLETE_BASH := $(DESTDIR)$(PREFIX)/share/bash-completion/completions/pmu-probe
COMPLETE_ZSH  := $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_pmu-probe
COMPLETE_FISH := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/pmu-probe.fish

# find_package(PmuProbe) searches here
CMAKE_DIR  := $(DESTDIR)$(PREFIX)/share/cmake/PmuProbe
# A folder below PREFIX that this Python imports from; else one that PYTHONPATH must name
PYTHON_READS = import sys; print(next((p for p in sys.path if p.startswith('$(PREFIX)/lib') and p.endswith('-packages')), ''))
PYTHON_OWN  := $(PREFIX)/share/pmu-probe/python
PYTHON_DIR   = $(or $(python_dir),$(eval python_dir := $(or $(shell $(PYTHON) -c "$(PYTHON_READS)" 2>/dev/null),$(PYTHON_OWN)))$(python_dir))
PYTHON_FILES := $(wildcard contrib/python/*.py contrib/labgrid/*.py)

# The tool writes it from the tables of its --help
$(BUILD)/pmu-probe.1: $(TOOL)
	$< --manual > $@

install: $(TOOL) $(BUILD)/pmu-probe.1
	install -D -m 755 $(TOOL) $(DESTDIR)$(PREFIX)/bin/pmu-probe
	install -D -m 644 $(BUILD)/pmu-probe.1 $(MANUAL)
	install -D -m 644 contrib/completions/pmu-probe.bash $(COMPLETE_BASH)
	install -D -m 644 contrib/completions/_pmu-probe $(COMPLETE_ZSH)
	install -D -m 644 contrib/completions/pmu-probe.fish $(COMPLETE_FISH)
	install -d $(SHARE)/openocd-cfg/boards
	install -m 644 openocd-cfg/pmu.tcl $(SHARE)/openocd-cfg/
	install -m 644 openocd-cfg/boards/*.cfg $(SHARE)/openocd-cfg/boards/
	install -D -m 644 -t $(SHARE)/gdb-scripts gdb-scripts/*.py
	install -D -m 644 -t $(SHARE)/charts contrib/charts/*.jq
	install -D -m 644 -t $(SHARE) docs/pmu-probe.schema.json
	install -D -m 644 -t $(CMAKE_DIR) contrib/cmake/*.cmake
	install -D -m 644 -t $(DESTDIR)$(PYTHON_DIR) $(PYTHON_FILES)
	install -D -m 644 contrib/udev/60-pmu-probe.rules $(DESTDIR)$(UDEV_RULE)
ifeq ($(DESTDIR),)
ifeq ($(filter $(UDEV_READS),$(UDEV_RULES)),)
	@echo "udev does not read $(UDEV_RULES). To open USB probes without being root:"
	@echo "  sudo cp $(UDEV_RULE) /etc/udev/rules.d/"
endif
	@echo "Plug USB probes in again. Users of ssh and services (CI): sudo adduser USER plugdev"
	@[ "$(PYTHON_DIR)" != "$(PYTHON_OWN)" ] || echo "import pmu_probe in Python: export PYTHONPATH=$(PYTHON_DIR)"
endif

# Removes only what `install` with the same PREFIX, DESTDIR and UDEV_RULES put there
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/pmu-probe $(DESTDIR)$(UDEV_RULE) $(MANUAL) $(COMPLETE_BASH) $(COMPLETE_ZSH) $(COMPLETE_FISH)
	rm -f $(foreach file,$(notdir $(PYTHON_FILES)),$(DESTDIR)$(PYTHON_DIR)/$(file) \
	    $(DESTDIR)$(PYTHON_DIR)/__pycache__/$(basename $(file)).cpython-*)
	rm -rf $(SHARE) $(CMAKE_DIR)
.PHONY: uninstall
