/*
 * The unwinder against the truth: unicorn executes a program, and a hook at each instruction keeps the true
 * stack by calls and returns. On a Cortex-M, exceptions occur at random places; their frames are made here.
 * PMU_SHOW=1 prints the first stacks that are not right.
 */
#include "fixture.h"

#include "symbols/internal.h"
#include "symbols/unwind.h"

#include <unicorn/unicorn.h>

/* Unicorn 2.1 itself keeps 32 bytes of each engine: uc_open, uc_mem_map_ptr and uc_close suffice. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libunicorn";
}

enum {
    STEP = 29,
    STACK = 0x20000000,
    STACK_SIZE = 0x20000,
    CODE_SIZE = 0x40000,
    TRUE_FRAMES = 64,
    LINES = 4,
    IT_STATE = 0x0600FC00
};

enum world { CORTEX_M4, CORTEX_M0, CORTEX_A9, CORTEX_A53 };

struct row {
    const char *name, *program;
    enum world world;
    bool interrupts, on_psp;
    double least; /* percent of all stacks that must be right */
};

/* A frame of the true stack that waits for its callee, or for the end of a handler. */
struct waiting {
    uint64_t pc, sp;
    bool is_exception;
};

struct counts {
    unsigned all, right, cut, guessed, false_marked, false_silent;
};

struct machine {
    const struct row *row;
    uc_engine *uc;
    struct symbols *symbols;
    struct unwind *unwind;
    uint8_t *code, *stack;
    struct waiting true_stack[TRUE_FRAMES];
    size_t depth;
    uint64_t call, call_sp; /* of the instruction before: where it returns to, if it calls; else 0 */
    uint64_t executed, most, next_exception;
    uint64_t psp, random, stopped_at;
    uint64_t block, block_end; /* of the last IT */
    unsigned phase, handlers;
    bool is_stopped;
    struct counts counts;
    unsigned shown;
};

static bool is_m(const struct machine *self)
{
    return self->row->world == CORTEX_M4 || self->row->world == CORTEX_M0;
}

static bool is_wide(const struct machine *self)
{
    return self->row->world == CORTEX_A53;
}

/* xorshift64 */
static uint64_t random_below(struct machine *self, uint64_t limit)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random % limit;
}

static uint64_t read_register(struct machine *self, int id)
{
    uint64_t value = 0;
    assert_int_equal(uc_reg_read(self->uc, id, &value), UC_ERR_OK);
    return value;
}

static void write_register(struct machine *self, int id, uint64_t value)
{
    assert_int_equal(uc_reg_write(self->uc, id, &value), UC_ERR_OK);
}

static uint64_t read_sp(struct machine *self)
{
    return read_register(self, is_wide(self) ? UC_ARM64_REG_SP : UC_ARM_REG_SP);
}

static uint8_t *memory_at(struct machine *self, uint64_t address, size_t size)
{
    if (address >= STACK && address - STACK <= STACK_SIZE - size)
        return self->stack + (address - STACK);
    return address <= CODE_SIZE - size ? self->code + address : NULL;
}

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
    const uint8_t *at = memory_at(context, address, size);
    if (at != NULL)
        memcpy(out, at, size);
    return at != NULL;
}

static uint32_t word_at(struct machine *self, uint64_t address)
{
    uint32_t word = 0;
    assert_true(read_memory(self, address, &word, sizeof word));
    return word;
}

/* --- the true stack ------------------------------------------------------------------------------------- */

static void wait_for(struct machine *self, struct waiting frame)
{
    assert_true(self->depth < TRUE_FRAMES);
    self->true_stack[self->depth++] = frame;
}

static bool is_call(struct machine *self, uint64_t at)
{
    uint32_t code = word_at(self, at), first = code & 0xFFFF, second = code >> 16;
    if (is_wide(self))
        return (code & 0xFC000000) == 0x94000000 || (code & 0xFFFFFC1F) == 0xD63F0000;
    if (self->row->world == CORTEX_A9 && table_isa(self->symbols, at) == ISA_ARM)
        return (code & 0x0F000000) == 0x0B000000 || code >> 25 == 0x7D || (code & 0x0FFFFFF0) == 0x012FFF30;
    return ((first & 0xF800) == 0xF000 && (second & 0xC000) == 0xC000) || (first & 0xFF80) == 0x4780;
}

/* Thumb-1 has no far jump: compilers use BL within a function, which is then no call. */
static bool is_far_jump(struct machine *self, uint64_t pc)
{
    struct extent from = {0, 0}, to = {0, 0};
    return table_around(self->symbols, self->call - 1, &from) != NULL &&
           table_around(self->symbols, pc, &to) != NULL && from.low == to.low && pc != to.low;
}

/* `pc` is executed next: whether the call before it went anywhere, and whether this is a return. */
static void follow(struct machine *self, uint64_t pc)
{
    if (self->call != 0 && self->call != pc && !is_far_jump(self, pc))
        wait_for(self, (struct waiting){self->call, self->call_sp, false});
    self->call = 0;
    while (self->depth > 0) {
        const struct waiting *top = &self->true_stack[self->depth - 1];
        if (top->is_exception || top->pc != pc || top->sp != read_sp(self))
            break;
        self->depth--;
    }
}

/* --- one stack ------------------------------------------------------------------------------------------ */

static void read_core(struct machine *self, uint64_t pc, struct unwind_core *core)
{
    *core = (struct unwind_core){.is_m = is_m(self)};
    if (is_wide(self)) {
        for (int i = 0; i < 29; i++)
            core->value[i] = read_register(self, UC_ARM64_REG_X0 + i);
        core->value[29] = read_register(self, UC_ARM64_REG_X29);
        core->value[30] = read_register(self, UC_ARM64_REG_X30);
        core->value[UNWIND_A64_SP] = read_sp(self);
        core->value[UNWIND_A64_PC] = pc;
        core->known = UNWIND_NEEDS_A64;
        return;
    }
    for (int i = 0; i < 13; i++)
        core->value[i] = read_register(self, UC_ARM_REG_R0 + i);
    core->value[UNWIND_ARM_SP] = read_sp(self);
    core->value[UNWIND_ARM_LR] = read_register(self, UC_ARM_REG_LR);
    core->value[UNWIND_ARM_PC] = pc;
    core->known = UNWIND_NEEDS_ARM;
    core->status = pc >= self->block && pc < self->block_end ? IT_STATE : 0;
    core->knows_psp = is_m(self);
    core->psp = self->row->on_psp && self->handlers == 0 ? core->value[UNWIND_ARM_SP] : self->psp;
}

static uint64_t true_pc(const struct machine *self, uint64_t pc, size_t i)
{
    return i == 0 ? pc : i <= self->depth ? self->true_stack[self->depth - i].pc : 0;
}

static void show(struct machine *self, uint64_t pc, const struct unwind_stack *found, const char *what)
{
    if (self->shown++ >= LINES || getenv("PMU_SHOW") == NULL)
        return;
    print_message("%s: %s, %zu of %zu frames: %s\n", self->row->name, what, found->count, self->depth + 1,
                  unwind_end_text(found->end));
    for (size_t i = 0; i < found->count || i <= self->depth; i++) {
        struct location is, ought;
        symbols_describe(self->symbols, i < found->count ? found->at[i].pc : 0, &is);
        symbols_describe(self->symbols, true_pc(self, pc, i), &ought);
        print_message("    %-30s %-30s%s\n", i < found->count ? is.name : "", ought.name,
                      i < found->count && found->at[i].is_guess ? " guess" : "");
    }
}

static void judge(struct machine *self, uint64_t pc, const struct unwind_stack *found)
{
    struct counts *counts = &self->counts;
    size_t same = 0;
    while (same < found->count && found->at[same].pc == true_pc(self, pc, same))
        same++;
    bool ends = found->end == UNWIND_OUTERMOST, whole = found->count == self->depth + 1;
    counts->all++;
    counts->guessed += found->at[found->count - 1].is_guess;
    if (same < found->count || (ends && !whole)) {
        bool marked = same < found->count && found->at[same].is_guess;
        counts->false_marked += marked;
        counts->false_silent += !marked;
        show(self, pc, found, marked ? "false, marked" : "false");
    } else if (ends) {
        counts->right++;
    } else {
        counts->cut++;
        show(self, pc, found, "cut");
    }
}

static void examine(struct machine *self, uint64_t pc)
{
    struct unwind_core core;
    struct unwind_stack found;
    read_core(self, pc, &core);
    unwind_find(self->unwind, &core, read_memory, self, &found);
    judge(self, pc, &found);
}

/* --- execution ------------------------------------------------------------------------------------------ */

/* DDI 0403 A7.7.38. The hook does not see what an IT leaves out: its block is known by addresses. */
static void note_block(struct machine *self, uint64_t pc)
{
    uint32_t first = word_at(self, pc) & 0xFFFF;
    if (!is_m(self) || (first & 0xFF00) != 0xBF00 || (first & 0xF) == 0)
        return;
    self->block = self->block_end = pc + 2;
    for (int left = 4 - __builtin_ctz(first & 0xF); left > 0; left--)
        self->block_end += instruction_is_wide(word_at(self, self->block_end) & 0xFFFF) ? 4 : 2;
}

static bool is_in_block(const struct machine *self, uint64_t pc)
{
    return pc >= self->block && pc < self->block_end;
}

static void on_instruction(uc_engine *uc, uint64_t pc, uint32_t size, void *context)
{
    struct machine *self = context;
    follow(self, pc);
    bool interrupted =
        self->row->interrupts && self->executed >= self->next_exception && !is_in_block(self, pc);
    if (self->executed >= self->most || interrupted) {
        self->is_stopped = true;
        self->stopped_at = pc;
        uc_emu_stop(uc);
        return;
    }
    if (self->executed++ % STEP == self->phase)
        examine(self, pc);
    if (is_call(self, pc)) {
        self->call = pc + size;
        self->call_sp = read_sp(self);
    }
    note_block(self, pc);
}

/* The exception's frame and LR, as DDI 0403 B1.5.6 and B1.5.8 have them; half of them extended, as with an
 * FPU. */
static void enter_exception(struct machine *self)
{
    static const int ids[] = {
        UC_ARM_REG_R0,  UC_ARM_REG_R1, UC_ARM_REG_R2, UC_ARM_REG_R3, UC_ARM_REG_R12, UC_ARM_REG_LR, 0,
        UC_ARM_REG_XPSR};
    bool from_thread = self->handlers == 0, from_psp = from_thread && self->row->on_psp;
    bool is_extended = self->row->world == CORTEX_M4 && random_below(self, 2) == 0;
    uint64_t sp = read_sp(self), pc = self->stopped_at;
    bool moved = (sp & 4) != 0;
    wait_for(self, (struct waiting){pc, sp, true});
    sp -= (is_extended ? 0x68 : 0x20) + (moved ? 4 : 0);
    uint32_t *words = (uint32_t *)(void *)memory_at(self, sp, 0x20);
    assert_non_null(words);
    for (size_t i = 0; i < 8; i++)
        words[i] = i == 6 ? (uint32_t)pc : (uint32_t)read_register(self, ids[i]);
    words[7] = (words[7] & ~(0x200 | IT_STATE)) | 1U << 24 | (moved ? 0x200 : 0);
    uint64_t back = 0xFFFFFFE1 | (is_extended ? 0 : 0x10) | (from_thread ? 8 : 0) | (from_psp ? 4 : 0);
    if (from_psp) {
        self->psp = sp;
        sp = STACK + STACK_SIZE;
    }
    struct location location = must_locate(self->symbols, "handler");
    write_register(self, UC_ARM_REG_SP, sp);
    write_register(self, UC_ARM_REG_LR, back);
    write_register(self, UC_ARM_REG_XPSR, words[7]);
    self->stopped_at = location.address;
    self->handlers++;
}

static void leave_exception(struct machine *self, uint64_t back)
{
    static const int ids[] = {
        UC_ARM_REG_R0,  UC_ARM_REG_R1, UC_ARM_REG_R2, UC_ARM_REG_R3, UC_ARM_REG_R12, UC_ARM_REG_LR, 0,
        UC_ARM_REG_XPSR};
    uint64_t sp = (back & 4) != 0 ? self->psp : read_sp(self);
    assert_true(self->depth > 0 && self->true_stack[self->depth - 1].is_exception);
    for (size_t i = 0; i < 8; i++)
        if (i != 6)
            write_register(self, ids[i], word_at(self, sp + 4 * i));
    self->stopped_at = word_at(self, sp + 24);
    write_register(self, UC_ARM_REG_SP, self->true_stack[--self->depth].sp);
    assert_int_equal(self->stopped_at, self->true_stack[self->depth].pc);
    self->handlers--;
    self->call = 0;
}

static bool take_event(struct machine *self, uc_err error)
{
    uint64_t pc = read_register(self, is_wide(self) ? UC_ARM64_REG_PC : UC_ARM_REG_PC);
    if (self->handlers > 0 && pc >= 0xFFFFFF00) {
        leave_exception(self, pc);
        return true;
    }
    if (error != UC_ERR_OK || !self->is_stopped)
        fail_msg("%s: unicorn stops at 0x%llx: %s", self->row->name, (unsigned long long)pc,
                 uc_strerror(error));
    if (self->executed >= self->most)
        return false;
    self->next_exception = self->executed + 20 + random_below(self, 600);
    if (self->handlers < 2)
        enter_exception(self);
    return true;
}

static void run(struct machine *self)
{
    for (;;) {
        uint64_t from = self->stopped_at | (is_m(self) ? 1 : 0);
        self->is_stopped = false;
        if (!take_event(self, uc_emu_start(self->uc, from, UINT64_MAX, 0, 0)))
            return;
    }
}

/* --- programs ------------------------------------------------------------------------------------------- */

static void load(struct machine *self)
{
    size_t size = 0, count = 0;
    uint8_t *bytes = fixture_bytes(self->row->program, &size);
    Elf *elf = elf_memory((char *)bytes, size);
    GElf_Phdr header;
    assert_int_equal(elf_getphdrnum(elf, &count), 0);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(gelf_getphdr(elf, (int)i, &header));
        uint8_t *to = header.p_type == PT_LOAD ? memory_at(self, header.p_vaddr, header.p_memsz) : NULL;
        if (to != NULL)
            memcpy(to, bytes + header.p_offset, header.p_filesz);
    }
    elf_end(elf);
    free(bytes);
}

static void open_engine(struct machine *self)
{
    static const struct {
        uc_arch arch;
        unsigned mode;
        int model;
    } cores[] = {
        [CORTEX_M4] = {UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS, UC_CPU_ARM_CORTEX_M4},
        [CORTEX_M0] = {UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS, UC_CPU_ARM_CORTEX_M0},
        [CORTEX_A9] = {UC_ARCH_ARM, UC_MODE_ARM, UC_CPU_ARM_CORTEX_A9},
        [CORTEX_A53] = {UC_ARCH_ARM64, UC_MODE_ARM, UC_CPU_ARM64_A53},
    };
    uc_hook hook;
    enum world world = self->row->world;
    assert_int_equal(uc_open(cores[world].arch, cores[world].mode, &self->uc), UC_ERR_OK);
    assert_int_equal(uc_ctl_set_cpu_model(self->uc, cores[world].model), UC_ERR_OK);
    assert_int_equal(uc_mem_map_ptr(self->uc, 0, CODE_SIZE, UC_PROT_ALL, self->code), UC_ERR_OK);
    assert_int_equal(uc_mem_map_ptr(self->uc, STACK, STACK_SIZE, UC_PROT_ALL, self->stack), UC_ERR_OK);
    assert_int_equal(
        uc_hook_add(self->uc, &hook, UC_HOOK_CODE, (void *)on_instruction, self, UINT64_C(1), UINT64_C(0)),
        UC_ERR_OK);
    /* In the middle, so that the stack of handlers has room above it */
    write_register(self, is_wide(self) ? UC_ARM64_REG_SP : UC_ARM_REG_SP, STACK + STACK_SIZE / 2);
}

static struct counts measure(const struct row *row, unsigned phase, uint64_t most)
{
    struct machine self = {.row = row,
                           .symbols = fixture_open(row->program),
                           .code = aligned_alloc(4096, CODE_SIZE),
                           .stack = aligned_alloc(4096, STACK_SIZE),
                           .most = most,
                           .phase = phase,
                           .random = test_seed() * 2 + 1,
                           .next_exception = 50};
    assert_non_null(self.code);
    assert_non_null(self.stack);
    memset(self.code, 0, CODE_SIZE);
    memset(self.stack, 0, STACK_SIZE);
    self.unwind = unwind_open(self.symbols);
    assert_non_null(self.unwind);
    load(&self);
    open_engine(&self);
    self.stopped_at = must_locate(self.symbols, "_start").address;
    run(&self);
    uc_close(self.uc);
    unwind_close(self.unwind);
    symbols_close(self.symbols);
    free(self.code);
    free(self.stack);
    return self.counts;
}

static double percent(unsigned part, unsigned all)
{
    return 100.0 * part / all;
}

/* `make check` takes every 29th instruction of the program's beginning, `make soak` more of it. */
static void check(const struct row *row)
{
    unsigned phase = (unsigned)(test_seed() % STEP);
    struct counts n = measure(row, phase, test_soaks() ? 3000000 : 120000);
    print_message(
        "%-22s %7u stacks  right %6.2f %%  cut short %5.2f %%  guessed %5.2f %%  false: marked %5.3f %%, "
        "silent %5.3f %%\n",
        row->name, n.all, percent(n.right, n.all), percent(n.cut, n.all), percent(n.guessed, n.all),
        percent(n.false_marked, n.all), percent(n.false_silent, n.all));
    assert_true(n.all > 2000);
    assert_true(percent(n.right, n.all) >= row->least);
    assert_true(percent(n.false_silent, n.all) < 0.1);
}

/* A program with a library, with and without exceptions. */
static const struct row rows[] = {
    {"M4", "stacks_m4", CORTEX_M4, .least = 98},
    {"M4, exceptions", "stacks_m4", CORTEX_M4, .interrupts = true, .least = 98},
    {"M4, exceptions, PSP", "stacks_m4", CORTEX_M4, true, true, .least = 98},
    {"M0+", "stacks_m0", CORTEX_M0, .least = 88},
    {"M0+, exceptions", "stacks_m0", CORTEX_M0, .interrupts = true, .least = 88},
    {"M0+, exceptions, PSP", "stacks_m0", CORTEX_M0, true, true, .least = 88},
    {"A9", "stacks_a9", CORTEX_A9, .least = 98},
    {"A53", "stacks_a53", CORTEX_A53, .least = 98},
    {"M4, as of LLVM", "late_m4", CORTEX_M4, .least = 100},
    {"A53, as of LLVM", "late_a53", CORTEX_A53, .least = 100},
};

TEST(the_stack_at_any_instruction)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        check(&rows[i]);
}
