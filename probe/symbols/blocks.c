#include "symbols/blocks.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct listing_row *row_of(const struct listing *listing, uint64_t address)
{
    size_t i = listing_row_at(listing, address);
    return i < listing->n && listing->rows[i].address == address && !listing->rows[i].is_data
               ? &listing->rows[i]
               : NULL;
}

/* Of one block with the row before it. An IT and what it has conditions for are one piece, of the IT's line:
 * no core is sure to stop within it. */
static bool continues(const struct listing *listing, size_t first, const struct listing_row *row)
{
    const struct listing_row *before = row - 1, *begin = &listing->rows[first];
    if (before->is_data || before->address + before->size != row->address)
        return false;
    return row->in_it || (before->flow == FLOW_ON && begin->line == row->line && begin->file == row->file);
}

static void mark_targets(const struct listing *listing, bool *begins)
{
    for (size_t i = 0; i < listing->n; i++) {
        const struct listing_row *row = &listing->rows[i];
        const struct listing_row *target = row->flow == FLOW_TO ? row_of(listing, row->target) : NULL;
        if (target != NULL && !target->in_it)
            begins[target - listing->rows] = true;
    }
    for (size_t i = 0, first = 0; i < listing->n; i++) {
        begins[i] = begins[i] || i == 0 || !continues(listing, first, &listing->rows[i]);
        first = begins[i] ? i : first;
    }
}

static void add_next(const struct listing *listing, struct code_block *block, uint64_t address)
{
    if (row_of(listing, address) == NULL) {
        block->returns = true; /* a jump to another function, which returns in this one's place */
        return;
    }
    for (unsigned i = 0; i < block->n_next; i++)
        if (block->next[i] == address)
            return;
    block->next[block->n_next++] = address;
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
    if (last->flow == FLOW_TO)
        add_next(listing, block, last->target);
    if (last->flow == FLOW_ON || last->may_go_on)
        add_next(listing, block, block->high);
}

bool blocks_make(const struct listing *listing, struct code_blocks *out, struct error *error)
{
    bool *begins = calloc(listing->n + 1, sizeof *begins);
    *out = (struct code_blocks){.at = calloc(listing->n + 1, sizeof *out->at)};
    bool ok = begins != NULL && out->at != NULL, has_lines = false;
    if (ok)
        mark_targets(listing, begins);
    for (size_t i = 0; ok && i < listing->n; i++) {
        const struct listing_row *row = &listing->rows[i];
        if (row->is_data)
            continue;
        if (begins[i])
            out->at[out->n++] =
                (struct code_block){.low = row->address, .file = row->file, .line = row->line};
        struct code_block *block = &out->at[out->n - 1];
        block->instructions++;
        block->calls = block->calls || row->calls;
        has_lines = has_lines || row->line > 0;
        if (i + 1 == listing->n || begins[i + 1] || listing->rows[i + 1].is_data)
            set_next(listing, row, block);
    }
    free(begins);
    if (!ok)
        error_set(error, ERROR_SYSTEM, "out of memory");
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

size_t blocks_at(const struct code_blocks *blocks, uint64_t address)
{
    for (size_t i = 0; i < blocks->n; i++)
        if (address >= blocks->at[i].low && address < blocks->at[i].high)
            return i;
    return BLOCK_NONE;
}
