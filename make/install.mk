# `make install`: the tool, and OpenOCD's part of it where `openocd -s` finds it.

install: $(BUILD)/pmu-probe
	install -D -m 755 $(BUILD)/pmu-probe $(DESTDIR)$(PREFIX)/bin/pmu-probe
	install -d $(DESTDIR)$(PREFIX)/share/pmu-probe/openocd-cfg/boards
	install -m 644 openocd-cfg/pmu.tcl $(DESTDIR)$(PREFIX)/share/pmu-probe/openocd-cfg/
	install -m 644 openocd-cfg/boards/*.cfg $(DESTDIR)$(PREFIX)/share/pmu-probe/openocd-cfg/boards/
