/*
 * Which instructions are surely followed by the next: encodings as an assembler makes them, written out.
 */
#include "../test.h"
#include "code/instruction.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

TEST(thumb)
{
    static const struct {
        const char *text;
        uint16_t first, second;
        unsigned size;
        bool falls;
    } lines[] = {
        {"movs r0, #1", 0x2001, 0, 2, true},
        {"ldr r0, [r1]", 0x6808, 0, 2, true},
        {"push {r4, lr}", 0xB510, 0, 2, true},
        {"pop {r4, pc}", 0xBD10, 0, 2, false},
        {"pop {r4}", 0xBC10, 0, 2, true},
        {"bx lr", 0x4770, 0, 2, false},
        {"blx r3", 0x4798, 0, 2, false},
        {"mov pc, lr", 0x46F7, 0, 2, false},
        {"mov r8, r0", 0x4680, 0, 2, true},
        {"add pc, r0", 0x4487, 0, 2, false},
        {"cmp r8, r0", 0x4580, 0, 2, true},
        {"b .", 0xE7FE, 0, 2, false},
        {"bne .", 0xD1FE, 0, 2, false},
        {"svc 0", 0xDF00, 0, 2, false},
        {"cbz r0, .+4", 0xB100, 0, 2, false},
        {"bkpt 0", 0xBE00, 0, 2, false},
        {"nop", 0xBF00, 0, 2, true},
        {"wfi", 0xBF30, 0, 2, false},
        {"it eq", 0xBF08, 0, 2, false},
        {"stmdb sp!, {r4-r11, lr}", 0xE92D, 0x4FF0, 4, true},
        {"ldmia sp!, {r4-r11, pc}", 0xE8BD, 0x8FF0, 4, false},
        {"ldmia sp!, {r4-r11}", 0xE8BD, 0x0FF0, 4, true},
        {"tbb [pc, r0]", 0xE8DF, 0xF000, 4, false},
        {"ldrd r0, r1, [r2]", 0xE9D2, 0x0100, 4, true},
        {"ldr pc, [r0]", 0xF8D0, 0xF000, 4, false},
        {"ldr r12, [r0]", 0xF8D0, 0xC000, 4, true},
        {"bl .", 0xF7FF, 0xFFFE, 4, false},
        {"msr primask, r0", 0xF380, 0x8810, 4, false},
        {"movw r0, #1", 0xF240, 0x0001, 4, true},
        {"mul r0, r1, r2", 0xFB01, 0xF002, 4, true},
        {"vadd.f32 s0, s0, s1", 0xEE30, 0x0A20, 4, true},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        unsigned size = 0;
        if (thumb_falls_through(lines[i].first, lines[i].second, &size) != lines[i].falls)
            fail_msg("%s", lines[i].text);
        assert_int_equal(size, lines[i].size);
    }
}

struct line {
    const char *text;
    uint32_t code;
    bool falls;
};

static void check(const struct line *lines, size_t n, bool (*falls)(uint32_t))
{
    for (size_t i = 0; i < n; i++)
        if (falls(lines[i].code) != lines[i].falls)
            fail_msg("%s", lines[i].text);
}

TEST(arm)
{
    static const struct line lines[] = {
        {"mov r0, #1", 0xE3A00001, true},
        {"movne r0, #1", 0x13A00001, true},
        {"mov pc, lr", 0xE1A0F00E, false},
        {"movs pc, lr", 0xE1B0F00E, false},
        {"add r0, r0, r1, lsl r2", 0xE0800211, true},
        {"cmp r0, #1", 0xE3500001, true},
        {"movw r0, #1", 0xE3000001, true},
        {"nop", 0xE320F000, true},
        {"wfi", 0xE320F003, false},
        {"msr cpsr_c, #0x13", 0xE321F013, false},
        {"bx lr", 0xE12FFF1E, false},
        {"blx r3", 0xE12FFF33, false},
        {"mul r0, r1, r2", 0xE0000291, true},
        {"ldrh r0, [r1]", 0xE1D100B0, true},
        {"ldr r0, [r1]", 0xE5910000, true},
        {"ldr pc, [r1]", 0xE591F000, false},
        {"str pc, [r1]", 0xE581F000, true},
        {"ldr pc, [r0, r1]", 0xE790F001, false},
        {"ldr r2, [r0, r1]", 0xE7902001, true},
        {"udf #0", 0xE7F000F0, false},
        {"push {r4, lr}", 0xE92D4010, true},
        {"pop {r4, pc}", 0xE8BD8010, false},
        {"pop {r4}", 0xE8BD0010, true},
        {"ldmfd sp!, {r0, pc}^", 0xE8FD8001, false},
        {"b .", 0xEAFFFFFE, false},
        {"bleq .", 0x0BFFFFFE, false},
        {"vpush {d8}", 0xED2D8B02, true},
        {"mrc p15, 0, r0, c9, c13, 0", 0xEE190F1D, true},
        {"vadd.f32 s0, s0, s1", 0xEE300A20, true},
        {"svc 0", 0xEF000000, false},
        {"blx .", 0xFAFFFFFE, false},
        {"cpsid i", 0xF10C0080, false},
    };
    check(lines, COUNT(lines), arm_falls_through);
}

TEST(a64)
{
    static const struct line lines[] = {
        {"add x0, x0, #1", 0x91000400, true},
        {"adr x0, .", 0x10000000, true},
        {"stp x29, x30, [sp, #-16]!", 0xA9BF7BFD, true},
        {"ldr x0, [x1]", 0xF9400020, true},
        {"madd x0, x1, x2, x3", 0x9B020C20, true},
        {"fadd d0, d0, d1", 0x1E612800, true},
        {"ldr q0, [x0]", 0x3DC00000, true},
        {"mrs x0, pmccntr_el0", 0xD53B9D00, true},
        {"msr pmcr_el0, x0", 0xD51B9C00, false},
        {"nop", 0xD503201F, false},
        {"b .", 0x14000000, false},
        {"bl .", 0x94000000, false},
        {"b.eq .", 0x54000000, false},
        {"cbz x0, .", 0xB4000000, false},
        {"ret", 0xD65F03C0, false},
        {"br x0", 0xD61F0000, false},
        {"svc #0", 0xD4000001, false},
        {"eret", 0xD69F03E0, false},
        {"udf #0", 0x00000000, false},
    };
    check(lines, COUNT(lines), a64_falls_through);
}

TEST(breakpoint_instructions)
{
    static const struct {
        bool (*read)(uint64_t, uint32_t, struct breakpoint_code *);
        uint64_t pc;
        uint32_t word;
        const char *name; /* NULL: another instruction */
        uint16_t number;
        unsigned size;
        bool is_semihosting;
    } lines[] = {
        {thumb_breakpoint, 0x100, 0x4770BEAB, "BKPT", 0xAB, 2, true},
        {thumb_breakpoint, 0x102, 0xBE004770, "BKPT", 0, 2, false},
        {thumb_breakpoint, 0x100, 0xBE004770, NULL, 0, 0, false},
        {thumb_breakpoint, 0x102, 0xBF00BEAB, NULL, 0, 0, false},
        {arm_breakpoint, 0x100, 0xE1212374, "BKPT", 0x1234, 4, false},
        {arm_breakpoint, 0x102, 0xBEAB2374, "BKPT", 0xAB, 2, false},
        {arm_breakpoint, 0x100, 0xE12FFF1E, NULL, 0, 0, false}, /* bx lr */
        {arm_breakpoint, 0x100, 0x01212374, NULL, 0, 0, false}, /* no condition is allowed */
        {a64_breakpoint, 0x100, 0xD45E0000, "HLT", 0xF000, 4, true},
        {a64_breakpoint, 0x100, 0xD4400020, "HLT", 1, 4, false},
        {a64_breakpoint, 0x100, 0xD4200020, NULL, 0, 0, false}, /* brk #1 halts nothing */
        {a64_breakpoint, 0x102, 0xD4400020, NULL, 0, 0, false},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct breakpoint_code code;
        bool found = lines[i].read(lines[i].pc, lines[i].word, &code);
        if (found != (lines[i].name != NULL))
            fail_msg("line %zu", i);
        if (found && (strcmp(code.name, lines[i].name) != 0 || code.number != lines[i].number ||
                      code.size != lines[i].size || code.is_semihosting != lines[i].is_semihosting))
            fail_msg("line %zu: %s 0x%X, %u bytes", i, code.name, code.number, code.size);
    }
}
