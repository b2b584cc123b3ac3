# pmu-probe: see README.md. `make demo` shows it, `make check` tests it.
# One non-recursive Makefile. Each part has its own file in make/.

BUILD  := build
CC     ?= gcc
CSTD   := -std=c11 -D_GNU_SOURCE
# CI builds with `make WERROR=1`. A user's compiler may warn of what ours does not
ERRORS := $(if $(filter 1,$(WERROR)),-Werror)
WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla $(ERRORS)
CFLAGS ?= -O2 -g
# Each command that builds begins with this: one short line, or with V=1 the command, or with make's -s nothing
SILENT := $(findstring s,$(firstword -$(MAKEFLAGS)))
quiet   = $(if $(filter 1,$(V)),,@)
say     = $(quiet)$(if $(quiet),$(if $(SILENT),,$(info $(1) $(if $(filter %.o,$@),$<,$@))))
# What is built for this machine to be used, with the caller's CPPFLAGS, CFLAGS and LDFLAGS
HOST_CC = $(call say,CC)$(CC) $(CSTD) $(WARN) $(CPPFLAGS) $(CFLAGS)
PREFIX ?= /usr/local
# For what is built by a make below this one: as many jobs as there are CPUs, unless the caller has said how many
JOBS    = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
# The tool that is installed and shown; `make check` takes its own, with the sanitizers
TOOL   ?= $(BUILD)/pmu-probe

# Dependency files are the compiler's: to look for a rule that makes them takes most of a second
MAKEFLAGS += --no-builtin-rules
%.d: ;

# A bare `make` uses each CPU; a caller's own -j goes before
ifeq ($(MAKECMDGOALS),)
MAKEFLAGS += -j$(shell nproc)
endif
all: $(BUILD)/pmu-probe

include make/deps.mk
include make/probe.mk
include make/firmware.mk
include make/firmware-armv7.mk
include make/hardware.mk
include make/stub.mk
include make/board.mk
include make/gdb.mk
include make/firmware-probes.mk
include make/card.mk
include make/knc.mk
include make/unit.mk
include make/symbols-fixtures.mk
include make/fuzz.mk
include make/bench.mk
include make/system.mk
include make/torture.mk
include make/labgrid.mk
include make/systems.mk
include make/coverage.mk
include make/lint.mk
include make/demo.mk
include make/install.mk
include make/deb.mk

clean:
	rm -rf $(BUILD)

.PHONY: all demo check bench install deps lint format clean
.DELETE_ON_ERROR:
