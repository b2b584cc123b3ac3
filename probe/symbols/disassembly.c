/*
 * Disassembly, by capstone. Version 4 does not know Armv8-M and takes some of its instructions for others:
 * here these have their names, or are shown as numbers, as all that it does not know.
 */
#include "symbols/internal.h"

#include <capstone.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARMV8_M_BASE = 16 }; /* Tag_CPU_arch, IHI 0045 */
enum { NOP = 0xBF00 };

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

struct disassembler *disassembler_open(const struct symbols *symbols)
{
    struct disassembler *disassembler = calloc(1, sizeof *disassembler);
    if (disassembler == NULL)
        return NULL;
    disassembler->is_m = disassembly_is_for_m(symbols);
    disassembler->is_v8m = disassembler->is_m && symbols->architecture >= ARMV8_M_BASE;
    return disassembler;
}

void disassembler_close(struct disassembler *disassembler)
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

bool disassembler_text(struct disassembler *disassembler, const struct code_instruction *one,
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
