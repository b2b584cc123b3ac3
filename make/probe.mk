# The host tool. libpmu.a holds everything but main.c. It is built for use, and with sanitizers for the tests.

PROBE_SRC  := $(sort $(wildcard probe/*/*.c probe/*/*/*.c))
PROBE_PKGS := libdw libelf jansson libusb-1.0 hidapi-hidraw expat zlib capstone
PROBE_LIBS := -liberty -lm -pthread
PROBE_INC  := -Iprobe -I$(BUILD)/gen
# Accesses through a null pointer and beyond an object are ASan's to find
SANITIZE   := -fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=all -fno-omit-frame-pointer -Og -g1
# Without zones around the tool's constants it starts in 8 ms and not in 12; UBSan checks the indices
GLOBALS     = $(if $(IS_GCC),--param asan-globals=0)
# Test programs have their own flags for optimizing and debugging, and the caller's for where things are; unit tests are not
# optimized, as _FORTIFY_SOURCE demands
SANITIZE_CC = $(call say,CC)$(CC) $(CSTD) $(WARN) $(SANITIZE) $(GLOBALS) $(filter-out -D_FORTIFY_SOURCE% -Wp%,$(CPPFLAGS))
IS_GCC      = $(or $(is_gcc),$(eval is_gcc := $(findstring Free Software,$(shell $(CC) --version)))$(is_gcc))
# The tests start these programs thousands of times. At a fixed address, with the sanitizers linked in, that takes half as long
SANITIZE_LD = $(call say,LD)$(CC) $(SANITIZE) -no-pie $(if $(IS_GCC),-static-libasan -static-libubsan) $(LDFLAGS)
# What a distribution wants of a program that reads data from outside; a packager's own flags go before it. The compiler
# is asked once for what not every one has, and only by a recipe. _FORTIFY_SOURCE is for one that optimizes without a sanitizer.
compiles    = $(shell $(CC) -Werror -O2 $(1) -include stdio.h -x c -c -o /dev/null /dev/null 2>/dev/null && echo '$(1)')
KNOWN       = -fstack-protector-strong -fPIE $(call compiles,-fstack-clash-protection) $(call compiles,-fcf-protection)
HARDEN      = $(or $(hardening),$(eval hardening := $(KNOWN))$(hardening))
FORTIFIES   = $(or $(call compiles,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
FORTIFY     = $(or $(fortifying),$(eval fortifying := $(FORTIFIES))$(fortifying))
LEVEL      := $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
HARDEN_CPP  = $(if $(findstring FORTIFY_SOURCE,$(CFLAGS) $(CPPFLAGS))$(findstring -fsanitize,$(CFLAGS)),,$(if $(LEVEL),$(FORTIFY)))
HARDEN_LD  := -pie -Wl,-z,relro,-z,now,-z,noexecstack
# pkg-config runs once, and only when a recipe needs it, because `deps` may have to install it first
pkg         = $(or $(pkg$(1)),$(eval pkg$(1) := $(shell pkg-config $(1) $(PROBE_PKGS)))$(pkg$(1)))

PROBE_OBJ := $(PROBE_SRC:%.c=$(BUILD)/obj/%.o)
ASAN_OBJ  := $(PROBE_SRC:%.c=$(BUILD)/asan/%.o)
GEN       := $(addprefix $(BUILD)/gen/,pmu_tcl.h own_tcl.h event_files.h metric_files.h page_css.h plots_css.h page_js.h sort_js.h page_hashes.h version.h)

# What git says of the nearest tag v..., or without a tag or git the next release. Written only where it changes
VERSION := 0.1.0
$(BUILD)/gen/version.h: FORCE
	@mkdir -p $(@D)
	@version=$$(git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null) && version=$${version#v} || version=$(VERSION); \
	    line="#define PMU_PROBE_VERSION \"$$version\""; [ "$$line" = "$$(cat $@ 2>/dev/null)" ] || echo "$$line" > $@
FORCE:
.PHONY: FORCE

# Turns a text file into the initializer of a char array
AS_STRING := sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/"/' -e 's/$$/\\n"/'
$(BUILD)/gen/%_tcl.h: openocd-cfg/%.tcl
	@mkdir -p $(@D)
	$(call say,GEN)$(AS_STRING) $< > $@

$(BUILD)/gen/page_%.h: probe/report/page.%
	@mkdir -p $(@D)
	$(call say,GEN)$(AS_STRING) $< > $@

$(BUILD)/gen/plots_%.h: probe/report/plots.%
	@mkdir -p $(@D)
	$(call say,GEN)$(AS_STRING) $< > $@

$(BUILD)/gen/sort_%.h: probe/report/sort.%
	@mkdir -p $(@D)
	$(call say,GEN)$(AS_STRING) $< > $@

# The pages allow these by their hashes. /usr/bin/printf knows \x, the shell's own may not
AS_HASH = env printf "$$(sha256sum < $(1) | cut -c1-64 | sed 's/../\\x&/g')" | base64
$(BUILD)/gen/page_hashes.h: $(addprefix probe/report/,page.css plots.css page.js sort.js)
	@mkdir -p $(@D)
	$(call say,GEN)set -- $(foreach f,$^,"$$($(call AS_HASH,$(f)))") && \
	    printf '#define %s "sha256-%s"\n' PAGE_STYLE "$$1" PLOTS_STYLE "$$2" PAGE_SCRIPT "$$3" SORT_SCRIPT "$$4" > $@

# Turns each file of a folder into TEXT("name", "contents"). The folder is a prerequisite because files may be removed.
AS_TEXTS = for f in $(1); do echo "TEXT(\"$$(basename $$f $(2))\","; $(AS_STRING) $$f; echo ')'; done
# A file of several event sets has a line `set NAME` before each.
EACH_SET = FNR == 1 { out = FILENAME; gsub(/.*\/|\.events$$/, "", out) } /^set / { out = $$2; next } \
    !/^(\#|$$)/ { print > (to "/" out) }
$(BUILD)/gen/event_files.h: $(sort $(wildcard probe/events/*.events)) probe/events
	@rm -rf $(@D)/events && mkdir -p $(@D)/events
	$(quiet)awk -v to=$(@D)/events '$(EACH_SET)' $(filter %.events,$^)
	$(call say,GEN)LC_ALL=C && export LC_ALL && set -- $(@D)/events/* && $(call AS_TEXTS,$$@) > $@
$(BUILD)/gen/metric_files.h: $(sort $(wildcard probe/metrics/*.metrics)) probe/metrics
	@mkdir -p $(@D)
	$(call say,GEN)$(call AS_TEXTS,$(filter %.metrics,$^),.metrics) > $@

$(BUILD)/obj/%.o: %.c Makefile make/probe.mk | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CSTD) $(WARN) $(HARDEN) $(HARDEN_CPP) $(CPPFLAGS) $(CFLAGS) $(PROBE_INC) $(call pkg,--cflags) -MMD -MP -c $< -o $@

$(BUILD)/asan/%.o: %.c Makefile make/probe.mk | $(GEN)
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(PROBE_INC) $(call pkg,--cflags) -MMD -MP -c $< -o $@

$(BUILD)/libpmu.a: $(PROBE_OBJ)
	$(call say,AR)rm -f $@ && ar rcs $@ $^
$(BUILD)/asan/libpmu.a: $(ASAN_OBJ)
	$(call say,AR)rm -f $@ && ar rcs $@ $^

$(BUILD)/pmu-probe: $(BUILD)/obj/probe/main.o $(BUILD)/libpmu.a
	$(call say,LD)$(CC) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) $^ $(call pkg,--libs) $(PROBE_LIBS) -o $@
$(BUILD)/asan/pmu-probe: $(BUILD)/asan/probe/main.o $(BUILD)/asan/libpmu.a
	$(SANITIZE_LD) $^ $(call pkg,--libs) $(PROBE_LIBS) -o $@

-include $(PROBE_OBJ:.o=.d) $(ASAN_OBJ:.o=.d) $(BUILD)/obj/probe/main.d $(BUILD)/asan/probe/main.d
