# `make check-systems`, as root: `make demo`, `make check` and `make deb` of the committed tree in a fresh minimal system of each
# Debian release, with gcc, make and git alone. In neither suite: each takes 2 GB and installs all packages.
# `make check-arm64`: demo and deb in an emulated Debian 13 of arm64, which takes one to two hours. `make check` does not run there: under
# qemu-user a program with AddressSanitizer takes all memory.

SYSTEMS    ?= bookworm trixie
SYSTEMS_IN ?= $(BUILD)/systems

check-systems: deps-systems
	@failed=; for release in $(SYSTEMS); do \
	    MIRROR='$(MIRROR)' tests/systems.sh $$release $(SYSTEMS_IN) sh -c 'make demo && make check && make deb' || failed="$$failed $$release"; \
	done; [ -z "$$failed" ] || { echo "check-systems: failed:$$failed"; exit 1; }

check-arm64: DEPS_SYSTEMS += qemu-user-static binfmt-support arch-test
check-arm64: deps-systems
	MIRROR='$(MIRROR)' tests/systems.sh trixie-arm64 $(SYSTEMS_IN) sh -c 'make demo && make deb'
.PHONY: check-systems check-arm64
