# Packages of Debian 12 and 13, Ubuntu 24.04 and 26.04, in lists; each contains one before. Each target installs the missing packages of its list with apt, as
# root or with sudo.

# To build the tool
DEPS_TOOL  := pkg-config libelf-dev libdw-dev libiberty-dev libjansson-dev libexpat1-dev zlib1g-dev libusb-1.0-0-dev libhidapi-dev libcapstone-dev
# To build the virtual board and its firmware as well, and to run the demo; netbase says what localhost is
DEPS_DEMO  := $(DEPS_TOOL) libunicorn-dev libfuse3-dev gcc-arm-none-eabi gcc-aarch64-linux-gnu openocd gdb-multiarch netbase
# For `make check`, `make lint`, `make bench` and `make capture`
DEPS_CHECK := $(DEPS_DEMO) libcmocka-dev libnewlib-arm-none-eabi g++-aarch64-linux-gnu python3-pyocd qemu-system-arm gdbserver \
              python3 python3-jsonschema python3-pytest python3-pytest-xdist python3-pytest-timeout python3-pexpect tmux zsh fish bash-completion man-db cmake \
              clang clang-format clang-tidy cppcheck
# For `make soak`: libFuzzer, and jq for the recipes of contrib/charts
DEPS_SOAK  := $(DEPS_CHECK) libclang-rt-dev jq
# For `make check-labgrid`
DEPS_LABGRID := $(DEPS_CHECK) python3-labgrid openssh-server
# For `make check-systems`
DEPS_SYSTEMS := mmdebstrap
# For `make deb` and `make check-deb`
DEPS_DEB   := $(DEPS_TOOL) build-essential debhelper dh-python python3 lintian

deps-tool: DEPS := $(DEPS_TOOL)
deps-demo: DEPS := $(DEPS_DEMO)
deps:      DEPS := $(DEPS_CHECK)
deps-soak: DEPS := $(DEPS_SOAK)
deps-labgrid: DEPS := $(DEPS_LABGRID)
deps-systems: DEPS = $(DEPS_SYSTEMS)
deps-deb:  DEPS := $(DEPS_DEB)

deps-tool deps-demo deps deps-soak deps-labgrid deps-systems deps-deb:
	@missing=""; for p in $(DEPS); do \
	    dpkg-query -W -f='$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q '^ii' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	    echo "$@: installing$$missing"; \
	    sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	    $$sudo apt-get update -q || echo "$@: the lists of packages are as old as they were"; \
	    $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	fi
.PHONY: deps-tool deps-demo deps-soak deps-labgrid deps-systems deps-deb
