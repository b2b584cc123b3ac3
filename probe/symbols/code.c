/* The instructions of a program, one after the other. */
#include "symbols/code.h"

#include "symbols/internal.h"

#include <string.h>

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

enum { MOST_FUNCTIONS = 4, MOST_CODE = 1 << 16 };

struct search {
    struct symbols *symbols;
    uint64_t entries[MOST_FUNCTIONS]; /* of the handler and of what it ends in */
    size_t n_entries;
    struct handler_exit *out;
    size_t n, room;
};

static void add_exit(struct search *search, uint64_t at, unsigned popped, bool conditional)
{
    struct handler_exit exit = {.at = at, .popped = popped, .conditional = conditional};
    size_t to = search->n < search->room ? search->n : search->room;
    search->n++;
    if (to == search->room)
        return;
    for (; !conditional && to > 0 && search->out[to - 1].conditional; to--) /* those without one come first */
        search->out[to] = search->out[to - 1];
    search->out[to] = exit;
}

/* B, DDI 0403 A7.7.12, to another function's entry: the handler ends in that one. */
static bool branch_target(uint64_t at, uint16_t first, uint16_t second, uint64_t *to)
{
    if ((first & 0xF800) == 0xE000) {
        int32_t offset = (int32_t)((uint32_t)first << 21) >> 20;
        *to = at + 4 + (uint64_t)(int64_t)offset;
        return true;
    }
    if ((first & 0xF800) != 0xF000 || (second & 0xD000) != 0x9000)
        return false;
    uint32_t sign = first >> 10 & 1, j1 = second >> 13 & 1, j2 = second >> 11 & 1;
    uint32_t bits = sign << 24 | (uint32_t)(j1 == sign) << 23 | (uint32_t)(j2 == sign) << 22 |
                    (first & 0x3FFU) << 12 | (second & 0x7FFU) << 1;
    *to = at + 4 + (uint64_t)(int64_t)((int32_t)(bits << 7) >> 7);
    return true;
}

static void add_function(struct search *search, uint64_t entry)
{
    struct extent extent;
    const struct symbol *symbol = table_around(search->symbols, entry, &extent);
    if (symbol == NULL || extent.low != entry || search->n_entries == MOST_FUNCTIONS)
        return;
    for (size_t i = 0; i < search->n_entries; i++)
        if (search->entries[i] == entry)
            return;
    search->entries[search->n_entries++] = entry;
}

/* DDI 0403 A7.7.20 (BX), A7.7.99 (POP), A7.7.41 (LDM), A7.7.43 (LDR): how many words it takes off the stack.
 */
static bool is_exit(uint16_t first, uint16_t second, unsigned *popped)
{
    *popped = 0;
    if ((first & 0xFF87) == 0x4700)
        return true;
    if ((first & 0xFF00) == 0xBD00) {
        *popped = (unsigned)__builtin_popcount(first & 0xFF) + 1;
        return true;
    }
    if (first == 0xE8BD && (second & 0x8000) != 0) {
        *popped = (unsigned)__builtin_popcount(second);
        return true;
    }
    *popped = 1;
    return first == 0xF85D && second == 0xFB04;
}

/* How many instructions an IT has in its block, DDI 0403 A7.7.38. */
static unsigned it_length(uint16_t code)
{
    return (code & 0xFF00) == 0xBF00 && (code & 0xF) != 0 ? 4 - (unsigned)__builtin_ctz(code & 0xF) : 0;
}

static void search_function(struct search *search, uint64_t entry)
{
    struct extent extent = {0, 0};
    unsigned in_block = 0;
    size_t n = 0;
    if (table_around(search->symbols, entry, &extent) == NULL || extent.high - extent.low > MOST_CODE)
        return;
    const uint8_t *bytes = elf_code(search->symbols, extent.low, &n);
    n = n < extent.high - extent.low ? n : extent.high - extent.low;
    unsigned size = 0;
    for (size_t at = 0; at + 2 <= n; at += size) {
        uint64_t address = extent.low + at, to = 0;
        uint16_t first = (uint16_t)(bytes[at] | bytes[at + 1] << 8);
        uint16_t second = at + 4 <= n ? (uint16_t)(bytes[at + 2] | bytes[at + 3] << 8) : 0;
        unsigned popped = 0;
        size = first >> 11 >= 0x1D ? 4 : 2;
        if (table_is_data(search->symbols, address)) {
            size = 2;
            continue;
        }
        if (is_exit(first, second, &popped))
            add_exit(search, address, popped, in_block > 0);
        else if (branch_target(address, first, second, &to) && (to < extent.low || to >= extent.high))
            add_function(search, to);
        in_block = in_block > 0 ? in_block - 1 : it_length(first);
    }
}

size_t symbols_exits(struct symbols *symbols, uint64_t entry, struct handler_exit *out, size_t room)
{
    struct search search = {.symbols = symbols, .out = out, .room = room};
    if (symbols == NULL || symbols->machine != EM_ARM || symbols->big_endian)
        return 0;
    add_function(&search, entry);
    for (size_t i = 0; i < search.n_entries; i++)
        search_function(&search, search.entries[i]);
    return search.n;
}
