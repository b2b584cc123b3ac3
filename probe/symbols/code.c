/* The instructions of a program, one after the other. */
#include "symbols/code.h"

static uint16_t halfword_of(const struct symbols *symbols, const uint8_t *bytes)
{
    return symbols->big_endian ? (uint16_t)(bytes[0] << 8 | bytes[1]) : (uint16_t)(bytes[0] | bytes[1] << 8);
}

bool code_is_wide(uint32_t halfword)
{
    return halfword >> 11 >= 0x1D;
}

uint32_t code_at(const struct symbols *symbols, const uint8_t *bytes, size_t n, bool thumb, unsigned *size)
{
    *size = thumb ? 2 : 4;
    if (n < *size)
        return 0;
    uint32_t first = halfword_of(symbols, bytes), second = n >= 4 ? halfword_of(symbols, bytes + 2) : 0;
    if (!thumb)
        return symbols->big_endian ? first << 16 | second : second << 16 | first;
    if (!code_is_wide(first))
        return first;
    *size = 4;
    return first << 16 | second;
}

static bool next_section(struct code_walk *walk)
{
    GElf_Shdr header;
    while ((walk->section = elf_nextscn(walk->symbols->elf, walk->section)) != NULL) {
        if (gelf_getshdr(walk->section, &header) == NULL || header.sh_type != SHT_PROGBITS ||
            (header.sh_flags & SHF_EXECINSTR) == 0 || header.sh_addr >= walk->high ||
            header.sh_addr + header.sh_size <= walk->low)
            continue;
        Elf_Data *data = elf_rawdata(walk->section, NULL);
        if (data == NULL || data->d_buf == NULL)
            continue;
        walk->base = header.sh_addr;
        walk->bytes = data->d_buf;
        walk->n = data->d_size;
        walk->first = walk->low > walk->base ? walk->low - walk->base : 0;
        walk->first = walk->first < walk->n ? walk->first : walk->n;
        walk->at = walk->first;
        return true;
    }
    return false;
}

bool code_next(struct code_walk *walk, struct code_instruction *out)
{
    while (walk->bytes == NULL || walk->at + 2 > walk->n || walk->base + walk->at >= walk->high)
        if (!next_section(walk))
            return false;
    struct symbols *symbols = walk->symbols;
    const uint8_t *bytes = walk->bytes + walk->at;
    size_t left = walk->n - walk->at;
    unsigned size;
    *out = (struct code_instruction){.address = walk->base + walk->at, .is_first = walk->at == walk->first};
    out->isa = table_isa(symbols, out->address);
    bool thumb = out->isa == ISA_THUMB;
    out->code = code_at(symbols, bytes, left, thumb, &size);
    if (out->isa == ISA_OTHER || table_is_data(symbols, out->address)) {
        size = thumb ? 2 : 4;
        out->code = 0;
        out->is_data = true;
    }
    out->size = size;
    walk->at += size;
    if (walk->at < walk->n)
        out->next = code_at(symbols, bytes + size, left - size, thumb, &size);
    return true;
}
