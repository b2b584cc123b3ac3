/*
 * All that the reader of instructions says of one, field by field: readings.txt has a line of each kind that
 * an assembler makes. Where one is read otherwise, its line is shown anew.
 */
#include "../test.h"
#include "code/instruction.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { READ_AT = 0x1000, LINE_ROOM = 400 };

static const char *const sets[] = {[ISA_THUMB] = "thumb", [ISA_ARM] = "arm", [ISA_A64] = "a64"};
static const char *const kinds[] = {
    [GOES_ON] = "on",
    [GOES_UNSURE] = "unsure",
    [GOES_SUPERVISOR] = "supervisor",
    [GOES_ASLEEP] = "asleep",
    [GOES_BREAKPOINT] = "breakpoint",
    [GOES_IT] = "it",
    [GOES_JUMP] = "jump",
    [GOES_AWAY] = "away",
    [GOES_TABLE] = "table",
    [GOES_BACK] = "back",
    [GOES_CALL] = "call",
    [GOES_CALL_BY] = "call by",
};
static const char *const results_of[] = {
    [GIVES_NUMBER] = "number", [GIVES_SUM] = "sum",         [GIVES_SHIFT] = "shift", [GIVES_AND] = "and",
    [GIVES_OR] = "or",         [GIVES_CLEARED] = "cleared", [GIVES_TOP] = "top",     [GIVES_OTHER] = "other",
};
static const char *const exclusives[] = {
    [EXCLUSIVE_LOAD] = "load", [EXCLUSIVE_STORE] = "store", [EXCLUSIVE_CLEAR] = "clear"};
static const char *const systems[] = {
    [SYSTEM_READ] = "read", [SYSTEM_WRITE] = "write", [SYSTEM_WRITE_BOTH] = "write both",
    [SYSTEM_MODE] = "mode", [SYSTEM_STACK] = "stack", [SYSTEM_MASK] = "mask"};

__attribute__((format(printf, 2, 3))) static void say(char *out, const char *format, ...)
{
    size_t used = strlen(out);
    va_list values;
    va_start(values, format);
    vsnprintf(out + used, LINE_ROOM - used, format, values);
    va_end(values);
}

/* A register, if there is one. */
static void say_register(char *out, const char *before, unsigned which)
{
    if (which != NO_REGISTER)
        say(out, "%s r%u", before, which);
}

/* In a line whose empty facts are left out. */
static void describe(char out[LINE_ROOM], const struct instruction *one)
{
    out[0] = '\0';
    say(out, "%s", kinds[one->kind]);
    if (one->conditional)
        say(out, " if");
    if (one->target != 0)
        say(out, " to %#llx", (unsigned long long)one->target);
    if (one->kind == GOES_AWAY || one->kind == GOES_BACK || one->kind == GOES_CALL_BY)
        say_register(out, " by", one->by);
    if (one->kind == GOES_BREAKPOINT || one->kind == GOES_IT)
        say(out, " of %#x", one->number);
    if (one->gives != GIVES_NONE) {
        say(out, "; r%u = %s %#x", one->to, results_of[one->gives], one->number);
        say_register(out, " of", one->from);
        say_register(out, " with", one->with);
    }
    if (one->access != ACCESS_NONE) {
        say(out, "; %s %u", one->access == ACCESS_LOAD ? "loads" : "stores", one->bytes);
        say_register(out, " at", one->base);
        say_register(out, " and", one->index);
        say(out, " << %u %+d, moves %+d, list %#x", one->shift, one->offset, one->moves, one->list);
    }
    if (one->exclusive != EXCLUSIVE_NONE)
        say(out, "; exclusive %s", exclusives[one->exclusive]);
    if (one->system != SYSTEM_NONE)
        say(out, "; system %s %u, c%u, c%u, %u of r%u", systems[one->system], one->op1, one->crn, one->crm,
            one->op2, one->from);
    say(out, "; writes %#x", one->writes);
}

TEST(each_line_of_the_readings)
{
    char line[LINE_ROOM], read[LINE_ROOM];
    FILE *file = fopen("tests/unit/code/readings.txt", "r");
    size_t lines = 0, differ = 0;
    assert_non_null(file);
    for (; fgets(line, sizeof line, file) != NULL; lines++) {
        char set[8], *bar = strstr(line, " | ");
        size_t length = strcspn(line, " ");
        if (bar == NULL || length >= sizeof set)
            fail_msg("no reading: %s", line);
        snprintf(set, sizeof set, "%.*s", (int)length, line);
        uint32_t code = (uint32_t)strtoul(line + length, NULL, 16);
        enum instruction_set isa = ISA_THUMB;
        while (isa < ISA_OTHER && strcmp(sets[isa], set) != 0)
            isa++;
        assert_int_not_equal(isa, ISA_OTHER);
        struct instruction one = instruction_of(isa, code, READ_AT);
        describe(read, &one);
        bar[strcspn(bar, "\n")] = '\0';
        if (strcmp(read, bar + 3) != 0)
            print_error("%.*s | %s\n", (int)(bar - line), line, read);
        differ += strcmp(read, bar + 3) != 0;
    }
    fclose(file);
    assert_true(lines > 0);
    assert_int_equal(differ, 0);
}
