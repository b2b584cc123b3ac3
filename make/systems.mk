# `make check-systems`, as root: `make demo`, `make check` and `make deb` of the committed tree in a fresh minimal system of each
# Debian release, with gcc, make and git alone. In neither suite: each takes 2 GB and installs all packages.

SYSTEMS    ?= bookworm trixie
SYSTEMS_IN ?= $(BUILD)/systems

check-systems: deps-systems
	@failed=; for release in $(SYSTEMS); do \
	    MIRROR='$(MIRROR)' tests/systems.sh $$release $(SYSTEMS_IN) sh -c 'make demo && make check && make deb' || failed="$$failed $$release"; \
	done; [ -z "$$failed" ] || { echo "check-systems: failed:$$failed"; exit 1; }
.PHONY: check-systems
