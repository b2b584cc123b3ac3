# `make install`: the tool, OpenOCD's part of it where `openocd -s` finds it, and who may open a probe.

# udev reads no rules below /usr/local; `udevadm control --reload` after this, or plug the probe in again
UDEV_RULES ?= $(if $(filter /usr/local,$(PREFIX)),/etc,$(PREFIX)/lib)/udev/rules.d

install: $(BUILD)/pmu-probe
	install -D -m 755 $(BUILD)/pmu-probe $(DESTDIR)$(PREFIX)/bin/pmu-probe
	install -d $(DESTDIR)$(PREFIX)/share/pmu-probe/openocd-cfg/boards
	install -m 644 openocd-cfg/pmu.tcl $(DESTDIR)$(PREFIX)/share/pmu-probe/openocd-cfg/
	install -m 644 openocd-cfg/boards/*.cfg $(DESTDIR)$(PREFIX)/share/pmu-probe/openocd-cfg/boards/
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/pmu-probe/gdb-scripts gdb-scripts/*.py
	install -D -m 644 udev/60-pmu-probe.rules $(DESTDIR)$(UDEV_RULES)/60-pmu-probe.rules
