# `make check-labgrid`: contrib/labgrid with Debian's labgrid and an sshd on loopback. Not in `make check`: that installs some
# 80 packages, and Debian's openssh-server starts its own server on port 22.

check-labgrid: deps-labgrid
	$(MAKE) -s -j$(shell nproc) $(BUILD)/asan/pmu-probe board firmware
	PMU_SOAK=1 $(PYTEST) -n 2 tests/labgrid/check_*.py
.PHONY: check-labgrid
