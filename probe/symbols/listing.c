/* SPDX-License-Identifier: MIT */
#include "symbols/listing.h"

#include "base/values.h"
#include "symbols/internal.h"

#include <capstone.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Disassembly, by capstone. Version 4 does not know Armv8-M and takes some of its instructions for others:
 * here these have their names, or are shown as numbers, as all that it does not know.
 */

enum { ARMV8_M_BASE = 16 }; /* Tag_CPU_arch, IHI 0045 */
enum { NOP = 0xBF00 };

struct instruction_text {
    char name[32];      /* "ldr" */
    char operands[160]; /* "r3, [pc, #0x14]"; may be "" */
};

struct disassembler {
    bool is_m, is_v8m;
    struct decoder {
        csh handle;
        cs_insn *instruction; /* NULL: not open */
    } decoders[ISA_OTHER];
};

/* Without build attributes, as armcc leaves it. Other cores begin in A32. */
static bool disassembly_is_for_m(const struct symbols *symbols)
{
    if (symbols->profile != 0 || symbols->machine != EM_ARM)
        return symbols->profile == 'M';
    for (size_t i = 0; i < symbols->table.function_count; i++)
        if (!symbols->table.functions[i].thumb)
            return false;
    return symbols->architecture == 0 && symbols->table.function_count > 0 && (symbols->entry & 1) != 0;
}

static struct disassembler *disassembler_open(const struct symbols *symbols)
{
    struct disassembler *disassembler = calloc(1, sizeof *disassembler);
    if (disassembler == NULL)
        return NULL;
    disassembler->is_m = disassembly_is_for_m(symbols);
    disassembler->is_v8m = disassembler->is_m && symbols->architecture >= ARMV8_M_BASE;
    return disassembler;
}

static void disassembler_close(struct disassembler *disassembler)
{
    for (size_t i = 0; disassembler != NULL && i < ISA_OTHER; i++)
        if (disassembler->decoders[i].instruction != NULL) {
            cs_free(disassembler->decoders[i].instruction, 1);
            cs_close(&disassembler->decoders[i].handle);
        }
    free(disassembler);
}

/* NULL: out of memory. */
static struct decoder *decoder_of(struct disassembler *disassembler, enum instruction_set isa)
{
    struct decoder *decoder = &disassembler->decoders[isa];
    cs_arch architecture = isa == ISA_A64 ? CS_ARCH_ARM64 : CS_ARCH_ARM;
    int mode = isa == ISA_A64 ? CS_MODE_LITTLE_ENDIAN : CS_MODE_V8;
    if (isa == ISA_THUMB)
        mode = CS_MODE_V8 | CS_MODE_THUMB | (disassembler->is_m ? CS_MODE_MCLASS : 0);
    if (decoder->instruction != NULL)
        return decoder;
    if (cs_open(architecture, (cs_mode)mode, &decoder->handle) != CS_ERR_OK)
        return NULL;
    cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
    decoder->instruction = cs_malloc(decoder->handle);
    if (decoder->instruction == NULL)
        cs_close(&decoder->handle);
    return decoder->instruction != NULL ? decoder : NULL;
}

/* The bytes in the order that capstone reads them. */
static bool disassembly_decode(struct decoder *decoder, uint64_t address, uint32_t code, unsigned size,
                               bool thumb)
{
    uint8_t bytes[4];
    const uint8_t *at = bytes;
    size_t n = size;
    uint32_t first = thumb && size == 4 ? code >> 16 | code << 16 : code;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(first >> 8 * i);
    return cs_disasm_iter(decoder->handle, &at, &n, &address, decoder->instruction) && n == 0;
}

static const char *register_name(unsigned number)
{
    static const char *const names[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                        "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};
    return names[number & 0xF];
}

/* DDI 0553 C2.4: SG, BXNS, BLXNS, TT and its kin. False: it is none of them. */
static bool put_armv8m(uint32_t code, unsigned size, struct instruction_text *out)
{
    static const char *const tests[] = {"tt", "ttt", "tta", "ttat"};
    if (code == 0xE97FE97F) {
        snprintf(out->name, sizeof out->name, "sg");
    } else if (size == 2 && (code & 0xFF07) == 0x4704) {
        snprintf(out->name, sizeof out->name, "%s", (code & 0x80) != 0 ? "blxns" : "bxns");
        snprintf(out->operands, sizeof out->operands, "%s", register_name(code >> 3));
    } else if (size == 4 && (code & 0xFFF0F03F) == 0xE840F000) {
        snprintf(out->name, sizeof out->name, "%s", tests[code >> 6 & 3]);
        snprintf(out->operands, sizeof out->operands, "%s, %s", register_name(code >> 8),
                 register_name(code >> 16));
    } else {
        return false;
    }
    return true;
}

/* Of LE, WLS and their kin, too, capstone takes some for others. DDI 0553 C2.4. */
static bool is_loop(uint32_t code)
{
    return (code & 0xFF80D001) == 0xF000C001;
}

/* What Armv8.1-M put where other encodings were unpredictable: conditional selects, shifts of two registers,
 * CLRM. DDI 0553 C2.3. */
static bool is_armv81m(uint32_t code, unsigned size)
{
    bool select = (code & 0xFE008000) == 0xEA008000;
    bool shift = (code & 0xFFF00000) == 0xEA500000 && ((code & 0xF) == 0xD || (code & 0xF) == 0xF);
    return size == 4 && (select || shift || is_loop(code) || code >> 16 == 0xE89F);
}

static void disassembly_put_number(const struct code_instruction *one, struct instruction_text *out)
{
    const char *kind = one->is_data            ? (one->size == 2 ? ".short" : ".word")
                       : one->isa != ISA_THUMB ? ".inst"
                       : one->size == 2        ? ".inst.n"
                                               : ".inst.w";
    snprintf(out->name, sizeof out->name, "%s", kind);
    snprintf(out->operands, sizeof out->operands, "0x%0*" PRIx32, (int)one->size * 2, one->code);
}

/* Instructions are given in the order of their addresses: Thumb's conditions are those of an IT before.
 * False: it has no name here, or an operand that is not a target. */
static bool disassembler_text(struct disassembler *disassembler, const struct code_instruction *one,
                              struct instruction_text *out)
{
    *out = (struct instruction_text){.name = ""};
    bool thumb = one->isa == ISA_THUMB;
    struct decoder *decoder =
        one->is_data || one->isa >= ISA_OTHER ? NULL : decoder_of(disassembler, one->isa);
    bool known = decoder != NULL && disassembly_decode(decoder, one->address, one->code, one->size, thumb);
    /* Inside an IT block it has a place all the same */
    if (!known && decoder != NULL && thumb)
        disassembly_decode(decoder, one->address, NOP, 2, true);
    bool v8m = decoder != NULL && thumb && disassembler->is_v8m;
    if (v8m && put_armv8m(one->code, one->size, out))
        return false;
    /* What is NEON for capstone is MVE on an M core, with other names */
    bool vector = known && thumb && disassembler->is_m &&
                  cs_insn_group(decoder->handle, decoder->instruction, ARM_GRP_NEON);
    if (!known || vector || (v8m && is_armv81m(one->code, one->size))) {
        disassembly_put_number(one, out);
        return false;
    }
    const cs_insn *instruction = decoder->instruction;
    snprintf(out->name, sizeof out->name, "%s", instruction->mnemonic);
    snprintf(out->operands, sizeof out->operands, "%s", instruction->op_str);
    return true;
}

/* ---- listing */

enum { NAME_WIDTH = 7 };

struct making {
    struct symbols *symbols;
    struct disassembler *disassembler;
    struct listing *out;
    uint64_t low;
    unsigned it_left; /* instructions of an IT's block that still follow */
};

/* "0x8000124 <fir_filter>", in the place of the operand "#0x8000124". */
static void put_target(struct making *making, const struct instruction_text *text, uint64_t target, char *out,
                       size_t room)
{
    const char *number = strrchr(text->operands, '#');
    size_t before = number != NULL ? (size_t)(number - text->operands) : 0;
    struct location at;
    symbols_describe(making->symbols, target, &at);
    snprintf(out, room, "%.*s0x%08" PRIx64, (int)before, text->operands, target);
    size_t used = strlen(out), brackets = sizeof " <>" - 1;
    if (at.high > at.low && used + brackets < room)
        snprintf(out + used, room - used, " <%.*s>", (int)(room - used - brackets - 1), at.name);
}

/* --- calls that return elsewhere ------------------------------------------------------------------------ */

/* Helpers for switches, and calls with arguments in the code after them, change the address that they return
 * to. `returned` is what a function makes of it, as far as its instructions show it in their order. */
enum { TRACKED_WORDS = 16, HELPER_BYTES = 1024, HELPERS = 2 };

enum returned { RETURNED_NOT, RETURNED_TO, RETURNED_PART, RETURNED_MOVED };

struct helper {
    enum returned registers[NO_REGISTER + 1], stack[TRACKED_WORDS]; /* stack: from the entry's down */
    unsigned lr, sp;
    unsigned word; /* bytes */
    int64_t depth; /* of the stack, bytes */
};

static enum returned *helper_slot(struct helper *helper, int64_t offset)
{
    int64_t word = (helper->depth - offset) / helper->word - 1;
    return word >= 0 && word < TRACKED_WORDS ? &helper->stack[word] : NULL;
}

/* A register of the list is at each word, from the lowest address up. */
static void helper_move(struct helper *helper, const struct instruction *does)
{
    int64_t at = does->offset;
    for (unsigned i = 0; i < NO_REGISTER; i++) {
        if ((does->list >> i & 1) == 0)
            continue;
        enum returned *slot = helper_slot(helper, at);
        at += helper->word;
        if (slot == NULL)
            continue;
        if (does->access == ACCESS_STORE)
            *slot = helper->registers[i];
        else
            helper->registers[i] = *slot;
    }
}

static enum returned helper_result(const struct helper *helper, const struct instruction *does)
{
    enum returned from = helper->registers[does->from],
                  with = does->with < NO_REGISTER ? helper->registers[does->with] : RETURNED_NOT;
    bool sum = does->gives == GIVES_SUM || does->gives == GIVES_OTHER; /* so is ADD of two registers */
    if (does->gives == GIVES_NONE || does->gives == GIVES_NUMBER ||
        (from == RETURNED_NOT && with == RETURNED_NOT))
        return RETURNED_NOT;
    if (does->gives == GIVES_SUM && does->with == NO_REGISTER && does->number == 0)
        return from;
    return sum && (from == RETURNED_TO || from == RETURNED_MOVED || with == RETURNED_TO) ? RETURNED_MOVED
                                                                                         : RETURNED_PART;
}

/* True: it goes to a changed address. */
static bool helper_take(struct helper *helper, const struct instruction *does)
{
    enum returned result = helper_result(helper, does), base = helper->registers[does->base];
    bool by_stack = does->access != ACCESS_NONE && does->base == helper->sp && does->index == NO_REGISTER,
         gives = does->gives != GIVES_NONE && does->to < NO_REGISTER;
    for (unsigned i = 0; i < NO_REGISTER; i++)
        if ((does->writes >> i & 1) != 0 && i != helper->sp)
            helper->registers[i] = RETURNED_NOT;
    if (by_stack)
        helper_move(helper, does);
    else if (does->access != ACCESS_NONE && does->moves != 0 && base != RETURNED_NOT)
        helper->registers[does->base] = RETURNED_MOVED;
    if (by_stack)
        helper->depth -= does->moves;
    if (gives && does->to == helper->sp && does->from == helper->sp && does->with == NO_REGISTER)
        helper->depth -= (int32_t)does->number;
    else if (gives)
        helper->registers[does->to] = result;
    if (helper->word == 4 && helper->registers[ARM_PC] == RETURNED_MOVED)
        return true;
    helper->registers[ARM_PC] = RETURNED_NOT;
    return (does->kind == GOES_BACK || does->kind == GOES_AWAY) && does->by < NO_REGISTER &&
           helper->registers[does->by] == RETURNED_MOVED;
}

/* Reads `bytes` of the function at `entry`, and of one that it jumps on to. */
static bool returns_elsewhere(struct symbols *symbols, uint64_t entry, uint64_t bytes)
{
    bool wide = symbols->machine == EM_AARCH64;
    struct helper helper = {.lr = wide ? A64_LR : ARM_LR, .sp = wide ? A64_SP : ARM_SP, .word = wide ? 8 : 4};
    helper.registers[helper.lr] = RETURNED_TO;
    struct helper branched = helper, onward = helper; /* at the last branch, which may lead to what follows a
                                                         return; and where it goes on elsewhere */
    for (unsigned i = 0; i < HELPERS; i++) {
        struct extent extent = {0};
        struct code_instruction one;
        uint64_t next = 0;
        if (table_around(symbols, entry, &extent) == NULL || extent.low != entry)
            return false;
        uint64_t high = extent.high - entry < bytes ? extent.high : entry + bytes;
        struct code_walk walk = {.symbols = symbols, .low = entry, .high = high};
        while (code_next(&walk, &one)) {
            struct instruction does = code_decode(&one);
            if (one.is_data)
                continue;
            if (helper_take(&helper, &does))
                return true;
            if (next == 0 && does.kind == GOES_JUMP && !does.conditional &&
                (does.target < entry || does.target >= high)) {
                next = does.target; /* it goes on there */
                onward = helper;
            }
            if (instruction_leaves(&does))
                helper = branched;
            else if (does.kind == GOES_JUMP)
                branched = helper;
        }
        entry = next;
        helper = branched = onward;
    }
    return false;
}

bool symbols_skips(struct symbols *symbols, uint64_t entry)
{
    return symbols != NULL && symbols->has_code && returns_elsewhere(symbols, entry, UINT32_MAX);
}

static enum code_flow flow_of(const struct instruction *does)
{
    if (does->kind == GOES_JUMP)
        return FLOW_TO;
    if (does->kind == GOES_BACK)
        return FLOW_RETURN;
    return does->kind == GOES_AWAY || does->kind == GOES_TABLE ? FLOW_AWAY : FLOW_ON;
}

static void listing_put_text(struct making *making, const struct code_instruction *one,
                             const struct instruction *does, struct listing_row *row)
{
    struct instruction_text text;
    char *out = row->text;
    char operands[LISTING_TEXT - sizeof text.name];
    bool is_named = disassembler_text(making->disassembler, one, &text);
    snprintf(operands, sizeof operands, "%s", text.operands);
    if (is_named && (does->kind == GOES_JUMP || does->kind == GOES_CALL))
        put_target(making, &text, does->target, operands, sizeof operands);
    if (operands[0] == '\0')
        snprintf(out, LISTING_TEXT, "%s", text.name);
    else
        snprintf(out, LISTING_TEXT, "%-*s %s", NAME_WIDTH, text.name, operands);
}

/* The second half of a word among the code joins the first. */
static bool joins(const struct code_instruction *one, const struct code_instruction *next)
{
    return one->is_data && next->is_data && one->size == 2 && next->size == 2 && one->address % 4 == 0 &&
           next->address == one->address + 2;
}

static void listing_add_row(struct making *making, const struct code_instruction *one)
{
    struct held held;
    struct listing_row *row = &making->out->rows[making->out->n++];
    struct instruction does = code_decode(one);
    bool in_it = making->it_left > 0,
         skips = does.kind == GOES_CALL && returns_elsewhere(making->symbols, does.target, HELPER_BYTES);
    *row = (struct listing_row){.address = one->address,
                                .size = one->size,
                                .is_data = one->is_data,
                                .in_it = in_it,
                                .is_held = symbols_held(making->symbols, one->address, &held),
                                .code = one->code,
                                .file = LISTING_NO_FILE,
                                .flow = skips ? FLOW_AWAY : flow_of(&does),
                                .may_go_on = does.conditional || in_it,
                                .calls = instruction_calls(&does),
                                .by_table = does.kind == GOES_TABLE,
                                .is_thumb = one->isa == ISA_THUMB,
                                .target = does.target};
    making->it_left = in_it ? making->it_left - 1 : does.kind == GOES_IT ? does.number : 0;
    listing_put_text(making, one, &does, row);
}

/* The next one. The walk leaves out the values of constants. */
static bool listing_take(struct code_walk *walk, struct code_instruction *out)
{
    if (!code_next(walk, out))
        return false;
    struct cursor cursor = {.at = walk->bytes + (out->address - walk->base),
                            .end = walk->bytes + walk->n,
                            .big_endian = walk->symbols->big_endian};
    if (out->is_data)
        out->code = (uint32_t)cursor_unsigned(&cursor, out->size);
    return true;
}

static void listing_join(struct code_instruction *one, uint32_t second, bool big_endian)
{
    one->code = big_endian ? one->code << 16 | second : second << 16 | one->code;
    one->size = 4;
}

/* `room` rows are there. Sections that overlap, which no linker makes, do not go back. */
static void listing_add_rows(struct making *making, uint64_t high, size_t room)
{
    struct code_walk walk = {.symbols = making->symbols, .low = making->low, .high = high};
    struct code_instruction one, next;
    uint64_t end = making->low;
    bool more = listing_take(&walk, &one);
    while (more && making->out->n < room) {
        more = listing_take(&walk, &next);
        if (more && joins(&one, &next)) {
            listing_join(&one, next.code, walk.symbols->big_endian);
            more = listing_take(&walk, &next);
        }
        if (one.address >= end) {
            end = one.address + one.size;
            listing_add_row(making, &one);
        }
        one = next;
    }
}

static bool listing_add_lines(struct making *making, uint64_t high)
{
    struct listing *out = making->out;
    struct line_map map;
    if (!lines_map(making->symbols, making->low, high, &map))
        return false;
    for (size_t i = 0; i < out->n; i++) {
        const struct line_slot *slot = &map.slots[(out->rows[i].address - making->low) / 2];
        out->rows[i].line = slot->line;
        out->rows[i].file = slot->line > 0 ? slot->file : LISTING_NO_FILE;
    }
    out->files = map.files;
    out->file_count = map.file_count;
    map.files = NULL;
    map.file_count = 0;
    line_map_free(&map);
    return true;
}

static bool listing_check(struct symbols *symbols, uint64_t low, uint64_t high, struct error *error)
{
    struct symbols_machine machine;
    symbols_machine(symbols, &machine);
    if (machine.number != EM_ARM && machine.number != EM_AARCH64)
        return error_advise(error, ERROR_ELF, "", "%s is for %s: only the code of Arm cores can be shown",
                            symbols->file, machine.name);
    if (high <= low || high - low > LISTING_BYTES)
        return error_advise(error, ERROR_ELF, "",
                            "the function at 0x%08" PRIx64 " has %" PRIu64
                            " bytes: code of up to %d can be shown",
                            low, high > low ? high - low : 0, LISTING_BYTES);
    return true;
}

bool listing_make(struct symbols *symbols, uint64_t low, uint64_t high, struct listing *out,
                  struct error *error)
{
    *out = (struct listing){0};
    if (!listing_check(symbols, low, high, error))
        return false;
    struct making making = {
        .symbols = symbols, .out = out, .low = low, .disassembler = disassembler_open(symbols)};
    size_t room = (size_t)((high - low + 1) / 2);
    out->rows = calloc(room, sizeof *out->rows);
    bool ok = out->rows != NULL && making.disassembler != NULL;
    if (ok) {
        listing_add_rows(&making, high, room);
        ok = listing_add_lines(&making, high);
    }
    disassembler_close(making.disassembler);
    if (!ok)
        error_memory(error);
    else if (out->n == 0)
        error_advise(error, ERROR_ELF, "", "%s has no code at 0x%08" PRIx64, symbols->file, low);
    ok = ok && out->n > 0;
    if (!ok)
        listing_free(out);
    return ok;
}

void listing_free(struct listing *listing)
{
    for (size_t i = 0; i < listing->file_count; i++)
        free(listing->files[i]);
    free(listing->files);
    free(listing->rows);
    *listing = (struct listing){0};
}

size_t listing_row_at(const struct listing *listing, uint64_t address)
{
    size_t until = sorted_until(listing->rows, listing->n, sizeof *listing->rows, address);
    return until > 0 ? until - 1 : listing->n;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

static const struct listing_row *listing_row_of(const struct listing *listing, uint64_t address)
{
    size_t i = listing_row_at(listing, address);
    return i < listing->n && listing->rows[i].address == address && !listing->rows[i].is_data
               ? &listing->rows[i]
               : NULL;
}

/* Of one block with the row before it. An IT and what it has conditions for are one piece, of the IT's line:
 * no core is sure to stop within it. So are a load-exclusive and what follows up to its store-exclusive. */
static bool listing_continues(const struct listing *listing, size_t first, const struct listing_row *row)
{
    const struct listing_row *before = row - 1, *begin = &listing->rows[first];
    if (before->is_data || before->address + before->size != row->address)
        return false;
    if (!row->in_it && (row->is_held || before->is_held))
        return row->is_held && (before->flow == FLOW_ON || before->may_go_on);
    return row->in_it || (before->flow == FLOW_ON && begin->line == row->line && begin->file == row->file);
}

static void mark_targets(const struct listing *listing, bool *begins)
{
    for (size_t i = 0; i < listing->n; i++) {
        const struct listing_row *row = &listing->rows[i];
        const struct listing_row *target = row->flow == FLOW_TO ? listing_row_of(listing, row->target) : NULL;
        if (target != NULL && !target->in_it && !target->is_held)
            begins[target - listing->rows] = true;
    }
    for (size_t i = 0; i < listing->n_joins; i++) {
        const struct listing_row *join = listing_row_of(listing, listing->joins[i]);
        if (join != NULL && !join->in_it && !join->is_held)
            begins[join - listing->rows] = true;
    }
    for (size_t i = 0, first = 0; i < listing->n; i++) {
        begins[i] = begins[i] || i == 0 || !listing_continues(listing, first, &listing->rows[i]);
        first = begins[i] ? i : first;
    }
}

static void add_next(const struct listing *listing, struct code_block *block, uint64_t address)
{
    if (listing_row_of(listing, address) == NULL) {
        block->returns = true; /* another function's, which returns in this one's place */
        return;
    }
    for (unsigned i = 0; i < block->n_next; i++)
        if (block->next[i] == address)
            return;
    if (block->n_next < BLOCK_NEXT)
        block->next[block->n_next++] = address;
    else
        block->is_open = true;
}

/* One way out of a row of a held block: on through held rows, else out of the block. */
static bool take_way(const struct listing *listing, struct code_block *block, uint64_t to, bool *passed)
{
    const struct listing_row *row = listing_row_of(listing, to);
    size_t i = row != NULL ? (size_t)(row - listing->rows) : 0;
    bool is_inside = to > block->low && to < block->high, was = row != NULL && passed[i];
    if (row != NULL && (row->is_held || is_inside)) {
        passed[i] = true;
        return !was;
    }
    /* A retry from the load on is part of the hop: the core cannot wait for a stop where it is */
    if (row == NULL || to != block->low || i + 1 == listing->n || !row[1].is_held)
        add_next(listing, block, to);
    return false;
}

/* The ways out of a block that has an exclusive access: by each of its instructions, and by those of another
 * block in which the access goes on. `passed` has room for a flag of each row. */
static void set_held_next(const struct listing *listing, const struct listing_row *first,
                          struct code_block *block, bool *passed)
{
    bool more = true;
    memset(passed, 0, listing->n * sizeof *passed);
    passed[first - listing->rows] = true;
    block->is_held = true;
    block->n_next = 0;
    while (more) {
        more = false;
        for (size_t i = 0; i < listing->n; i++) {
            const struct listing_row *row = &listing->rows[i];
            if (!passed[i] || row->is_data)
                continue;
            block->returns = block->returns || row->flow == FLOW_RETURN;
            block->is_open = block->is_open || row->flow == FLOW_AWAY;
            if (row->flow == FLOW_TO)
                more = take_way(listing, block, row->target, passed) || more;
            if (row->flow == FLOW_ON || row->may_go_on)
                more = take_way(listing, block, row->address + row->size, passed) || more;
        }
    }
}

static void set_next(const struct listing *listing, const struct listing_row *last, struct code_block *block)
{
    const struct listing_row *stop = last;
    while (stop->in_it && stop->address > block->low)
        stop--;
    block->last = stop->address;
    block->high = last->address + last->size;
    block->returns = last->flow == FLOW_RETURN;
    block->is_open = last->flow == FLOW_AWAY;
    block->calls_away = block->is_open && last->calls;
    if (last->flow == FLOW_TO)
        add_next(listing, block, last->target);
    block->leaves = block->returns && last->flow == FLOW_TO;
    block->calls = block->calls || block->leaves; /* what runs outside is in the line */
    if (last->flow == FLOW_ON || last->may_go_on)
        add_next(listing, block, block->high);
}

/* By a jump: what follows a load-exclusive is in its block. */
static bool leads_into_held(const struct listing *listing, const struct listing_row *last)
{
    const struct listing_row *to = last->flow == FLOW_TO ? listing_row_of(listing, last->target) : NULL;
    return to != NULL && to->is_held;
}

bool blocks_make(const struct listing *listing, struct code_blocks *out, struct error *error)
{
    bool *begins = calloc(2 * listing->n + 1, sizeof *begins);
    *out = (struct code_blocks){.at = calloc(listing->n + 1, sizeof *out->at)};
    bool ok = begins != NULL && out->at != NULL, has_lines = false, is_held = false;
    const struct listing_row *first = listing->rows;
    if (ok)
        mark_targets(listing, begins);
    for (size_t i = 0; ok && i < listing->n; i++) {
        const struct listing_row *row = &listing->rows[i];
        if (row->is_data)
            continue;
        if (begins[i]) {
            out->at[out->n++] = (struct code_block){
                .low = row->address, .file = row->file, .line = row->line, .is_thumb = row->is_thumb};
            first = row;
            is_held = false;
        }
        is_held = is_held || row->is_held;
        struct code_block *block = &out->at[out->n - 1];
        block->instructions++;
        block->calls = block->calls || row->calls;
        has_lines = has_lines || row->line > 0;
        if (i + 1 < listing->n && !begins[i + 1] && !listing->rows[i + 1].is_data)
            continue;
        set_next(listing, row, block);
        if (is_held || leads_into_held(listing, row))
            set_held_next(listing, first, block, begins + listing->n);
    }
    free(begins);
    if (!ok)
        error_memory(error);
    else if (!has_lines)
        ok = error_advise(error, ERROR_ELF, "Was it compiled with -g?",
                          "the function at 0x%08" PRIx64 " has no lines in the ELF file",
                          listing->rows[0].address);
    if (!ok)
        blocks_free(out);
    return ok;
}

void blocks_free(struct code_blocks *blocks)
{
    free(blocks->at);
    *blocks = (struct code_blocks){0};
}
