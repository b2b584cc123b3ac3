# Unit tests: tests/unit mirrors probe/. Each folder is one cmocka program, built with the sanitizers.

UNIT_SRC  := $(sort $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c))
UNIT_DIRS := $(sort $(foreach f,$(UNIT_SRC),$(word 3,$(subst /, ,$f))))
UNIT_BIN  := $(UNIT_DIRS:%=$(BUILD)/unit/%)
UNIT_OBJ  := $(patsubst tests/unit/%.c,$(BUILD)/unit/obj/%.o,tests/unit/test_main.c $(UNIT_SRC))
# Lines are enough to find a failed test, and cost less than all that a debugger wants. UBSan is for what they test: for the
# tests themselves it takes as long as all the rest of the compiler's work
UNIT_FLAGS = $(UNIT_O) -g1 -fno-sanitize=undefined $(ASAN_CALLS) $(PROBE_INC) -Itests/unit
# Most of their time is the compiler's: less to do where ASan's checks are calls
$(UNIT_OBJ): UNIT_O := -O0
$(UNIT_OBJ): ASAN_CALLS = $(if $(IS_GCC),--param asan-instrumentation-with-call-threshold=0)

$(UNIT_OBJ): $(BUILD)/unit/obj/%.o: tests/unit/%.c Makefile make/probe.mk make/unit.mk | $(GEN)
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(UNIT_FLAGS) $(call pkg,--cflags) -MMD -MP -c $< -o $@

define UNIT_PROGRAM
$(BUILD)/unit/$(1): $(filter $(BUILD)/unit/obj/test_main.o $(BUILD)/unit/obj/$(1)/%,$(UNIT_OBJ))
endef
$(foreach d,$(UNIT_DIRS),$(eval $(call UNIT_PROGRAM,$(d))))
$(UNIT_BIN): $(BUILD)/asan/libpmu.a
	$(SANITIZE_LD) $(filter %.o,$^) $(BUILD)/asan/libpmu.a $(call pkg,--libs) $(UNIT_LIBS) -lcmocka $(PROBE_LIBS) -o $@

-include $(UNIT_OBJ:.o=.d)

# Writes tests/golden from what the programs print now; `git diff` shows the changes
GOLDEN := $(BUILD)/unit/report
golden: $(GOLDEN)
	rm -rf tests/golden
	for program in $(GOLDEN); do PMU_GOLDEN=write $$program >/dev/null || exit 1; done
golden-programs:
	@echo $(GOLDEN)
.PHONY: golden golden-programs

# What symbols/ finds in an ELF file, for tests that compare it with binutils
LOCATE := $(BUILD)/asan/locate
$(LOCATE): tests/system/locate/locate.c $(BUILD)/asan/libpmu.a make/unit.mk
	$(SANITIZE_CC) $(PROBE_INC) $(call pkg,--cflags) -c $< -o $@.o
	$(SANITIZE_LD) $@.o $(BUILD)/asan/libpmu.a $(call pkg,--libs) $(PROBE_LIBS) -o $@

# A pmu-probe in which a call for memory or to the target fails, at a place that a test chooses
FAILING := $(BUILD)/failing/pmu-probe
REFUSED := ledger_read ledger_read_list ledger_run ledger_hold ledger_write ledger_apply ledger_open ledger_execute link_execute
MEMORY  := malloc calloc realloc strdup strndup open_memstream
comma   := ,
$(FAILING): tests/system/failing/failing.c $(BUILD)/asan/probe/main.o $(BUILD)/asan/libpmu.a make/unit.mk
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(PROBE_INC) -c $< -o $(@D)/failing.o
	$(quiet)objcopy $(foreach f,$(MEMORY),--redefine-sym $(f)=failing_$(f)) $(BUILD)/asan/libpmu.a $(@D)/libpmu.a
	$(SANITIZE_LD) $(patsubst %,-Wl$(comma)--wrap=%,$(REFUSED)) $(BUILD)/asan/probe/main.o $(@D)/failing.o $(@D)/libpmu.a \
	    $(call pkg,--libs) $(PROBE_LIBS) -o $@
