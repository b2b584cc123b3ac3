/*
 * From steps to pmu.tcl's numbers.
 */
#include "links/openocd_program.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { UNIT_AP = 0x10000, UNIT_DP = 0x20000 };

static bool continues(const struct step *before, const struct step *after)
{
    return after->op == OP_READ && after->at.space == SPACE_MEMORY && after->at.unit == before->at.unit &&
           after->at.size == before->at.size && after->at.offset == before->at.offset + before->at.size &&
           after->at.offset > before->at.offset;
}

size_t openocd_item_length(const struct step *steps, size_t n)
{
    size_t length = 1;
    if (steps[0].op == OP_READ && steps[0].at.space == SPACE_MEMORY)
        while (length < n && length < OPENOCD_BLOCK && continues(&steps[length - 1], &steps[length]))
            length++;
    return length;
}

const char *openocd_step_refusal(const struct step *step, size_t targets)
{
    const struct address *at = &step->at;
    if (step->op == OP_TIME)
        return NULL;
    switch ((enum space)at->space) {
    case SPACE_MEMORY:
        if (at->unit >= targets)
            return "there is no such target";
        if (at->size != 1 && at->size != 2 && at->size != 4 && at->size != 8)
            return "no access has that size";
        return NULL;
    case SPACE_AP:
        if (at->size != 4 || at->offset > 0xffc || at->offset % 4 != 0)
            return "there is no such register";
        return NULL;
    case SPACE_DP:
        if (at->size != 4 || at->offset > 0xfc || at->offset % 4 != 0)
            return "there is no such register";
        return NULL;
    case SPACE_MSR:
    case SPACE_CP15:
        break;
    }
    return "it cannot be reached through OpenOCD";
}

static uint64_t fitted(uint64_t value, unsigned size)
{
    return size < 8 ? value & ((UINT64_C(1) << (8 * size)) - 1) : value;
}

static unsigned unit_number(const struct address *at)
{
    switch ((enum space)at->space) {
    case SPACE_AP:
        return UNIT_AP + at->unit;
    case SPACE_DP:
        return UNIT_DP + at->unit;
    case SPACE_MEMORY:
    case SPACE_MSR:
    case SPACE_CP15:
        break;
    }
    return at->unit;
}

static int write_item(const struct step *step, size_t length, char *out, size_t size)
{
    const struct address *at = &step->at;
    uint64_t a = length, b = 0;
    unsigned op = 0;
    switch (step->op) {
    case OP_READ:
        break;
    case OP_WRITE:
        op = 1;
        a = fitted(step->value, at->size);
        break;
    case OP_UNTIL:
    case OP_EXPECT:
        op = step->op == OP_UNTIL ? 2 : 3;
        a = step->mask;
        b = step->value;
        break;
    case OP_COPY: /* not for links */
    case OP_CHECK:
    case OP_TIME:
        return snprintf(out, size, "4 0 0 0 0 0 ");
    }
    return snprintf(out, size, "%u %u %u 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " ", op, unit_number(at),
                    8U * at->size, at->offset, a, b);
}

size_t openocd_program_write(const struct step *steps, size_t n, size_t targets, char *out, size_t size)
{
    size_t covered = 0, used = 0;
    out[0] = '\0';
    while (covered < n && openocd_step_refusal(&steps[covered], targets) == NULL) {
        size_t length = openocd_item_length(steps + covered, n - covered);
        int written = write_item(&steps[covered], length, out + used, size - used);
        if (written < 0 || (size_t)written >= size - used) {
            out[used] = '\0';
            break;
        }
        used += (size_t)written;
        covered += length;
    }
    return covered;
}
