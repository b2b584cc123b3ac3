# What Debian 12 has and we use. `make deps` installs what is missing, by apt, as root or with sudo.

DEPS := pkg-config libelf-dev libdw-dev libjansson-dev libexpat1-dev libunicorn-dev libcmocka-dev libusb-1.0-0-dev libhidapi-dev libfuse3-dev \
        gcc-arm-none-eabi libnewlib-arm-none-eabi gcc-aarch64-linux-gnu g++-aarch64-linux-gnu openocd python3-pyocd gdb-multiarch qemu-system-arm gdbserver \
        python3 python3-pytest python3-pytest-xdist python3-pexpect tmux \
        clang libclang-rt-14-dev clang-format clang-tidy cppcheck

deps:
	@missing=""; for p in $(DEPS); do \
	    dpkg-query -W -f='$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q '^ii' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	    echo "deps: installing$$missing"; \
	    sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	    $$sudo apt-get update -q && \
	    $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	fi
