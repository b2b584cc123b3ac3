# `make install` puts the tool, its OpenOCD files (where `-f pico.cfg` finds them) and the udev rules in place. `make uninstall`
# removes them.

SHARE := $(DESTDIR)$(PREFIX)/share/pmu-probe
# udev reads no rules below /usr/local
UDEV_RULES ?= $(if $(filter /usr/local,$(PREFIX)),/etc,$(PREFIX)/lib)/udev/rules.d
UDEV_READS := /etc/udev/rules.d /usr/lib/udev/rules.d /lib/udev/rules.d /run/udev/rules.d
UDEV_RULE  := $(UDEV_RULES)/60-pmu-probe.rules

install: $(BUILD)/pmu-probe
	install -D -m 755 $(BUILD)/pmu-probe $(DESTDIR)$(PREFIX)/bin/pmu-probe
	install -d $(SHARE)/openocd-cfg/boards
	install -m 644 openocd-cfg/pmu.tcl $(SHARE)/openocd-cfg/
	install -m 644 openocd-cfg/boards/*.cfg $(SHARE)/openocd-cfg/boards/
	install -D -m 644 -t $(SHARE)/gdb-scripts gdb-scripts/*.py
	install -D -m 644 udev/60-pmu-probe.rules $(DESTDIR)$(UDEV_RULE)
ifeq ($(DESTDIR),)
ifeq ($(filter $(UDEV_READS),$(UDEV_RULES)),)
	@echo "udev does not read $(UDEV_RULES). To open USB probes without being root:"
	@echo "  sudo cp $(UDEV_RULE) /etc/udev/rules.d/ && sudo udevadm control --reload"
else
	@echo "USB probes: udevadm control --reload, or plug the probe in again."
endif
endif

# Removes only what `install` with the same PREFIX, DESTDIR and UDEV_RULES put there
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/pmu-probe $(DESTDIR)$(UDEV_RULE)
	rm -rf $(SHARE)
.PHONY: uninstall
