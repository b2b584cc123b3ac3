/*
 * Where the core goes on after an instruction, and what that makes of registers: encodings as an assembler
 * makes them, written out. tests/unit/symbols has frames, stores and writes to counters.
 */
#include "../test.h"
#include "code/instruction.h"

#include <stdio.h>

enum { PLACE = 0x1000 };

struct line {
    const char *text;
    uint32_t code;
    enum instruction_kind kind;
    uint64_t target; /* 0: none */
};

static void check(enum instruction_set isa, const struct line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct instruction one = instruction_of(isa, lines[i].code, PLACE);
        unsigned size = isa == ISA_THUMB && lines[i].code >> 16 == 0 ? 2 : 4;
        if (one.kind != lines[i].kind || one.target != lines[i].target || one.size != size)
            fail_msg("%s: %d to 0x%llX", lines[i].text, one.kind, (unsigned long long)one.target);
    }
}

TEST(kinds_of_thumb)
{
    static const struct line lines[] = {
        {"movs r0, #1", 0x2001, GOES_ON, 0},
        {"push {r4, lr}", 0xB510, GOES_ON, 0},
        {"pop {r4, pc}", 0xBD10, GOES_BACK, 0},
        {"bx lr", 0x4770, GOES_BACK, 0},
        {"bx r3", 0x4718, GOES_AWAY, 0},
        {"bxns lr", 0x4774, GOES_AWAY, 0},
        {"blx r3", 0x4798, GOES_CALL_BY, 0},
        {"blxns r4", 0x47A4, GOES_CALL_BY, 0},
        {"mov pc, lr", 0x46F7, GOES_BACK, 0},
        {"mov pc, r3", 0x469F, GOES_AWAY, 0},
        {"mov r8, r0", 0x4680, GOES_ON, 0},
        {"add pc, r0", 0x4487, GOES_AWAY, 0},
        {"cmp r8, r0", 0x4580, GOES_ON, 0},
        {"b .", 0xE7FE, GOES_JUMP, 0x1000},
        {"bne .", 0xD1FE, GOES_JUMP, 0x1000},
        {"svc 0", 0xDF00, GOES_SUPERVISOR, 0},
        {"udf #0", 0xDE00, GOES_UNSURE, 0},
        {"cbz r0, . + 12", 0xB120, GOES_JUMP, 0x100C},
        {"bkpt 0", 0xBE00, GOES_BREAKPOINT, 0},
        {"nop", 0xBF00, GOES_ON, 0},
        {"wfe", 0xBF20, GOES_ASLEEP, 0},
        {"wfi", 0xBF30, GOES_ASLEEP, 0},
        {"sev", 0xBF40, GOES_UNSURE, 0},
        {"it eq", 0xBF08, GOES_IT, 0},
        {"push {r4-r11, lr}", 0xE92D4FF0, GOES_ON, 0},
        {"pop {r4-r11, pc}", 0xE8BD8FF0, GOES_BACK, 0},
        {"pop {r4-r11}", 0xE8BD0FF0, GOES_ON, 0},
        {"ldm r0, {r1, pc}", 0xE8908002, GOES_AWAY, 0},
        {"tbb [pc, r0]", 0xE8DFF000, GOES_TABLE, 0},
        {"rfeia r0", 0xE990C000, GOES_AWAY, 0},
        {"ldrexb r0, [r1]", 0xE8D10F4F, GOES_ON, 0},
        {"ldr pc, [r0]", 0xF8D0F000, GOES_AWAY, 0},
        {"pop {pc}", 0xF85DFB04, GOES_BACK, 0},
        {"pld [r0]", 0xF890F000, GOES_ON, 0},
        {"bl .", 0xF7FFFFFE, GOES_CALL, 0x1000},
        {"blx . + 4", 0xF000E800, GOES_CALL, 0x1004},
        {"b.w .", 0xF7FFBFFE, GOES_JUMP, 0x1000},
        {"beq.w .", 0xF43FAFFE, GOES_JUMP, 0x1000},
        {"wls lr, r0, . + 28", 0xF040C00D, GOES_JUMP, 0x101C},
        {"le lr, . - 8", 0xF00FC007, GOES_JUMP, 0xFF8},
        {"dls lr, r0", 0xF040E001, GOES_UNSURE, 0},
        {"msr primask, r0", 0xF3808810, GOES_UNSURE, 0},
        {"wfi.w", 0xF3AF8003, GOES_ASLEEP, 0},
        {"movw r0, #1", 0xF2400001, GOES_ON, 0},
        {"mul r0, r1, r2", 0xFB01F002, GOES_ON, 0},
        {"bxaut r12, lr, sp", 0xFB5ECF1D, GOES_BACK, 0},
        {"bxaut r7, r4, r4", 0xFB547F14, GOES_AWAY, 0},
        {"autg r7, sp, r8", 0xFB5D7F08, GOES_ON, 0},
        {"vadd.f32 s0, s0, s1", 0xEE300A20, GOES_ON, 0},
    };
    check(ISA_THUMB, lines, COUNT(lines));
}

TEST(kinds_of_a32)
{
    static const struct line lines[] = {
        {"mov r0, #1", 0xE3A00001, GOES_ON, 0},
        {"movne r0, #1", 0x13A00001, GOES_ON, 0},
        {"mov pc, lr", 0xE1A0F00E, GOES_BACK, 0},
        {"movs pc, lr", 0xE1B0F00E, GOES_BACK, 0},
        {"subs pc, lr, #4", 0xE25EF004, GOES_AWAY, 0},
        {"add r0, r0, r1, lsl r2", 0xE0800211, GOES_ON, 0},
        {"cmp r0, #1", 0xE3500001, GOES_ON, 0},
        {"movw r0, #1", 0xE3000001, GOES_ON, 0},
        {"nop", 0xE320F000, GOES_ON, 0},
        {"wfi", 0xE320F003, GOES_ASLEEP, 0},
        {"msr cpsr_c, #0x13", 0xE321F013, GOES_UNSURE, 0},
        {"bx lr", 0xE12FFF1E, GOES_BACK, 0},
        {"bx r3", 0xE12FFF13, GOES_AWAY, 0},
        {"blx r3", 0xE12FFF33, GOES_CALL_BY, 0},
        {"bkpt 1", 0xE1200071, GOES_BREAKPOINT, 0},
        {"mul r0, r1, r2", 0xE0000291, GOES_ON, 0},
        {"sdiv r0, r1, r2", 0xE710F211, GOES_UNSURE, 0},
        {"ldrh r0, [r1]", 0xE1D100B0, GOES_ON, 0},
        {"ldr r0, [r1]", 0xE5910000, GOES_ON, 0},
        {"ldr pc, [r1]", 0xE591F000, GOES_AWAY, 0},
        {"str pc, [r1]", 0xE581F000, GOES_ON, 0},
        {"ldr pc, [r0, r1]", 0xE790F001, GOES_AWAY, 0},
        {"ldr r2, [r0, r1]", 0xE7902001, GOES_ON, 0},
        {"udf #0", 0xE7F000F0, GOES_UNSURE, 0},
        {"push {r4, lr}", 0xE92D4010, GOES_ON, 0},
        {"pop {r4, pc}", 0xE8BD8010, GOES_BACK, 0},
        {"pop {r4}", 0xE8BD0010, GOES_ON, 0},
        {"ldmdb fp, {r4, fp, sp, pc}", 0xE91BA810, GOES_BACK, 0},
        {"ldmfd sp!, {r0, pc}^", 0xE8FD8001, GOES_BACK, 0},
        {"b .", 0xEAFFFFFE, GOES_JUMP, 0x1000},
        {"bl .", 0xEBFFFFFE, GOES_CALL, 0x1000},
        {"bleq . + 12", 0x0B000001, GOES_CALL, 0x100C},
        {"blx . + 10", 0xFB000000, GOES_CALL, 0x100A},
        {"vpush {d8}", 0xED2D8B02, GOES_ON, 0},
        {"mrc p15, 0, r0, c9, c13, 0", 0xEE190F1D, GOES_ON, 0},
        {"vadd.f32 s0, s0, s1", 0xEE300A20, GOES_ON, 0},
        {"svc 0", 0xEF000000, GOES_SUPERVISOR, 0},
        {"cpsid i", 0xF10C0080, GOES_UNSURE, 0},
    };
    check(ISA_ARM, lines, COUNT(lines));
}

TEST(kinds_of_a64)
{
    static const struct line lines[] = {
        {"add x0, x0, #1", 0x91000400, GOES_ON, 0},
        {"adr x0, .", 0x10000000, GOES_ON, 0},
        {"stp x29, x30, [sp, #-16]!", 0xA9BF7BFD, GOES_ON, 0},
        {"ldr x0, [x1]", 0xF9400020, GOES_ON, 0},
        {"madd x0, x1, x2, x3", 0x9B020C20, GOES_ON, 0},
        {"fadd d0, d0, d1", 0x1E612800, GOES_ON, 0},
        {"ldr q0, [x0]", 0x3DC00000, GOES_ON, 0},
        {"mrs x0, pmccntr_el0", 0xD53B9D00, GOES_ON, 0},
        {"msr pmcr_el0, x0", 0xD51B9C00, GOES_UNSURE, 0},
        {"nop", 0xD503201F, GOES_UNSURE, 0},
        {"wfi", 0xD503207F, GOES_ASLEEP, 0},
        {"wfet x0", 0xD5031000, GOES_ASLEEP, 0},
        {"b .", 0x14000000, GOES_JUMP, 0x1000},
        {"bl . - 4", 0x97FFFFFF, GOES_CALL, 0xFFC},
        {"b.eq .", 0x54000000, GOES_JUMP, 0x1000},
        {"bc.eq .", 0x54000010, GOES_JUMP, 0x1000},
        {"cbz x0, . + 8", 0xB4000040, GOES_JUMP, 0x1008},
        {"tbz x0, #0, .", 0x36000000, GOES_JUMP, 0x1000},
        {"ret", 0xD65F03C0, GOES_BACK, 0},
        {"retaa", 0xD65F0BFF, GOES_BACK, 0},
        {"br x0", 0xD61F0000, GOES_AWAY, 0},
        {"blr x3", 0xD63F0060, GOES_CALL_BY, 0},
        {"blraa x3, x4", 0xD73F0864, GOES_CALL_BY, 0},
        {"blraaz x3", 0xD63F087F, GOES_CALL_BY, 0},
        {"blrab x3, x4", 0xD73F0C64, GOES_CALL_BY, 0},
        {"svc #0", 0xD4000001, GOES_SUPERVISOR, 0},
        {"hlt #0", 0xD4400000, GOES_BREAKPOINT, 0},
        {"eret", 0xD69F03E0, GOES_AWAY, 0},
        {"udf #0", 0x00000000, GOES_UNSURE, 0},
    };
    check(ISA_A64, lines, COUNT(lines));
}

TEST(results)
{
    static const struct {
        const char *text;
        enum instruction_set isa;
        uint32_t code;
        enum instruction_result gives;
        unsigned to, from, with;
        uint32_t number;
    } lines[] = {
        {"movs r3, r4", ISA_THUMB, 0x0023, GIVES_SUM, 3, 4, NO_REGISTER, 0},
        {"lsls r3, r4, #2", ISA_THUMB, 0x00A3, GIVES_SHIFT, 3, 4, NO_REGISTER, 2},
        {"subs r3, #1", ISA_THUMB, 0x3B01, GIVES_SUM, 3, 3, NO_REGISTER, UINT32_MAX},
        {"orrs r3, r4", ISA_THUMB, 0x4323, GIVES_OR, 3, 3, 4, 0},
        {"cmp r3, r4", ISA_THUMB, 0x42A3, GIVES_NONE, NO_REGISTER, NO_REGISTER, NO_REGISTER, 0},
        {"mov.w r3, #0x100", ISA_THUMB, 0xF44F7380, GIVES_NUMBER, 3, NO_REGISTER, NO_REGISTER, 0x100},
        {"movt r3, #0xE000", ISA_THUMB, 0xF2CE0300, GIVES_TOP, 3, NO_REGISTER, NO_REGISTER, 0xE000},
        {"bic r3, r3, #1", ISA_THUMB, 0xF0230301, GIVES_CLEARED, 3, 3, NO_REGISTER, 1},
        {"bfc r3, #0, #3", ISA_THUMB, 0xF36F0302, GIVES_CLEARED, 3, 3, NO_REGISTER, 7},
        {"sub.w sp, sp, #520", ISA_THUMB, 0xF5AD7D02, GIVES_SUM, ARM_SP, ARM_SP, NO_REGISTER, 0U - 520},
        {"orr.w r3, r3, r4", ISA_THUMB, 0xEA430304, GIVES_OR, 3, 3, 4, 0},
        {"mvn.w r3, r4", ISA_THUMB, 0xEA6F0304, GIVES_OTHER, 3, NO_REGISTER, 4, 0},
        {"mov.w r3, r4", ISA_THUMB, 0xEA4F0304, GIVES_SUM, 3, 4, NO_REGISTER, 0},
        {"adds r3, r4, r5", ISA_THUMB, 0x1963, GIVES_OTHER, 3, 4, 5, 0},
        {"asrs r3, r4, #2", ISA_THUMB, 0x10A3, GIVES_OTHER, 3, 4, NO_REGISTER, 0},
        {"add r3, r12", ISA_THUMB, 0x4463, GIVES_OTHER, 3, 3, 12, 0},
        {"add.w r3, r4, r5, lsl #2", ISA_THUMB, 0xEB040385, GIVES_OTHER, 3, 4, 5, 0},
        {"orr.w r3, r3, r4, lsl #2", ISA_THUMB, 0xEA430384, GIVES_OTHER, 3, 3, 4, 0},
        {"orr r3, r3, #1", ISA_ARM, 0xE3833001, GIVES_OR, 3, 3, NO_REGISTER, 1},
        {"mvn r3, #0", ISA_ARM, 0xE3E03000, GIVES_NUMBER, 3, NO_REGISTER, NO_REGISTER, UINT32_MAX},
        {"orr w3, w3, #1", ISA_A64, 0x32000063, GIVES_OR, 3, 3, NO_REGISTER, 1},
        {"and w3, w3, #-2", ISA_A64, 0x121F7863, GIVES_AND, 3, 3, NO_REGISTER, 0xFFFFFFFE},
        {"mov w3, w4", ISA_A64, 0x2A0403E3, GIVES_SUM, 3, 4, NO_REGISTER, 0},
        {"mov sp, x29", ISA_A64, 0x910003BF, GIVES_SUM, A64_SP, A64_FP, NO_REGISTER, 0},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct instruction one = instruction_of(lines[i].isa, lines[i].code, PLACE);
        uint32_t writes = lines[i].to == NO_REGISTER ? 0 : 1U << lines[i].to;
        if (one.gives != lines[i].gives || one.to != lines[i].to || one.from != lines[i].from ||
            one.with != lines[i].with || one.number != lines[i].number || one.writes != writes)
            fail_msg("%s: %d of r%u, 0x%X", lines[i].text, one.gives, one.from, one.number);
    }
}

/* How much memory an access takes, as far as the offset. */
TEST(bytes_of_an_access)
{
    static const struct {
        const char *text;
        enum instruction_set isa;
        uint32_t code, bytes;
        int32_t offset, moves;
    } lines[] = {
        {"str r1, [r0, #4]", ISA_THUMB, 0x6041, 4, 4, 0},
        {"strh r1, [r0, #2]", ISA_THUMB, 0x8041, 2, 2, 0},
        {"strb r1, [r0, #1]", ISA_THUMB, 0x7041, 1, 1, 0},
        {"ldrsb r1, [r0, r2]", ISA_THUMB, 0x5681, 1, 0, 0},
        {"push {r4, lr}", ISA_THUMB, 0xB510, 8, -8, -8},
        {"strb.w r1, [r0, #256]", ISA_THUMB, 0xF8801100, 1, 256, 0},
        {"strh r1, [r0], #2", ISA_THUMB, 0xF8201B02, 2, 0, 2},
        {"ldrd r4, r5, [r3, #16]!", ISA_THUMB, 0xE9F34504, 8, 16, 16},
        {"strb r1, [r0, #1]", ISA_ARM, 0xE5C01001, 1, 1, 0},
        {"strh r1, [r0, #-2]!", ISA_ARM, 0xE16010B2, 2, -2, -2},
        {"strd r2, r3, [r0]", ISA_ARM, 0xE1C020F0, 8, 0, 0},
        {"push {r4, lr}", ISA_ARM, 0xE92D4010, 8, -8, -8},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct instruction one = instruction_of(lines[i].isa, lines[i].code, PLACE);
        if (one.bytes != lines[i].bytes || one.offset != lines[i].offset || one.moves != lines[i].moves)
            fail_msg("%s: %u bytes at %d, moves %d", lines[i].text, one.bytes, one.offset, one.moves);
    }
}

TEST(registers_that_change)
{
    static const struct {
        const char *text;
        enum instruction_set isa;
        uint32_t code, writes;
    } lines[] = {
        {"push {r4, lr}", ISA_THUMB, 0xB510, 1 << 13},
        {"ldm r3!, {r1, r2}", ISA_THUMB, 0xCB06, 1 << 1 | 1 << 2 | 1 << 3},
        {"ldm r3, {r1, r3}", ISA_THUMB, 0xCB0A, 1 << 1 | 1 << 3},
        {"ldrd r4, r5, [r3, #16]!", ISA_THUMB, 0xE9F34504, 1 << 3 | 1 << 4 | 1 << 5},
        {"push.w {r4, r5}", ISA_THUMB, 0xE92D0030, 1 << 13},
        {"ldmdb r3!, {r1, r2}", ISA_THUMB, 0xE9330006, 1 << 1 | 1 << 2 | 1 << 3},
        {"str r1, [r0], #4", ISA_THUMB, 0xF8401B04, 1 << 0},
        {"umull r2, r3, r1, r4", ISA_THUMB, 0xFBA12304, 1 << 2 | 1 << 3},
        {"clrm {r1, r2}", ISA_THUMB, 0xE89F0006, 1 << 1 | 1 << 2},
        {"vldmia r5!, {s0-s3}", ISA_THUMB, 0xECB50A04, 1 << 5},
        {"blx r3", ISA_THUMB, 0x4798, 0},
        {"vadd.f32 s15, s14, s15", ISA_THUMB, 0xEE777A27, 0},
        {"vadd.f64 d0, d0, d1", ISA_THUMB, 0xEE300B01, 0},
        {"vmov.f32 s15, #2.1875", ISA_THUMB, 0xEEF47A0C, 0},
        {"vmov r0, s0", ISA_THUMB, 0xEE100A10, 1 << 0},
        {"vmov s0, r3", ISA_THUMB, 0xEE003A10, 0},
        {"vmrs r1, fpscr", ISA_THUMB, 0xEEF11A10, 1 << 1},
        {"vmov r2, r3, d0", ISA_THUMB, 0xEC532B10, 1 << 2 | 1 << 3},
        {"vdot.bf16 d14, d10, d8", ISA_THUMB, 0xFC0AED08, 0},
        {"vadd.i32 q0, q1, q2", ISA_THUMB, 0xEF220844, 0},
        {"vlstm r0", ISA_THUMB, 0xEC200A00, 0},
        {"vld1.16 {d22[]}, [r9:16]!", ISA_THUMB, 0xF9E96C5D, 1 << 9},
        {"vld1.64 {d1}, [r3]", ISA_THUMB, 0xF92317CF, 0},
        {"mla r2, r0, r1, r3", ISA_THUMB, 0xFB003201, 1 << 2},
        {"smlabb r3, r1, r11, r0", ISA_THUMB, 0xFB11030B, 1 << 3},
        {"sdiv r0, r1, r2", ISA_THUMB, 0xFB91F0F2, 1 << 0},
        {"smlald r1, r2, r3, r4", ISA_THUMB, 0xFBC312C4, 1 << 1 | 1 << 2},
        {"strex r2, r3, [r0]", ISA_THUMB, 0xE8403200, 1 << 2},
        {"strexb r9, r6, [r11]", ISA_THUMB, 0xE8CB6F49, 1 << 9},
        {"strexd r1, r12, lr, [r10]", ISA_THUMB, 0xE8CACE71, 1 << 1},
        {"ldrexd r4, r5, [r0]", ISA_THUMB, 0xE8D0457F, 1 << 4 | 1 << 5},
        {"pac r12, lr, sp", ISA_THUMB, 0xF3AF801D, 1 << 12},
        {"pacbti r12, lr, sp", ISA_THUMB, 0xF3AF800D, 1 << 12},
        {"aut r12, lr, sp", ISA_THUMB, 0xF3AF802D, 0},
        {"bxaut r12, lr, sp", ISA_THUMB, 0xFB5ECF1D, 0},
        {"pacg r2, r3, r4", ISA_THUMB, 0xFB63F204, 1 << 2},
        {"stl r1, [r0]", ISA_THUMB, 0xE8C01FAF, 0},
        {"vmlalva.s16 r0, r3, q2, q1", ISA_THUMB, 0xEE940E22, 1 << 0 | 1 << 3},
        {"vaddv.s32 r0, q0", ISA_THUMB, 0xEEF90F00, 1 << 0},
        {"vmaxv.s8 r1, q0", ISA_THUMB, 0xEEE21F00, 1 << 1},
        {"vddup.u32 q1, r8, #4", ISA_THUMB, 0xEE293FEE, 1 << 8},
        {"vcmp.f32 le, q5, r2", ISA_THUMB, 0xEE3B1FE2, 0},
        {"vshlc q4, r3, #28", ISA_THUMB, 0xEEBC8FC3, 1 << 3},
        {"vmov r12, r5, q5[2], q5[0]", ISA_THUMB, 0xEC05AF0C, 1 << 5 | 1 << 12},
        {"lsll r6, r5, #20", ISA_THUMB, 0xEA56550F, 1 << 5 | 1 << 6},
        {"sqshl r5, #17", ISA_THUMB, 0xEA554F7F, 1 << 5},
        {"csel r12, r6, zr, lo", ISA_THUMB, 0xEA568C3F, 1 << 12},
        {"vldrb.u16 q4, [r7], #-82", ISA_THUMB, 0xFC378ED2, 1 << 7},
        {"vldrh.s32 q7, [r0], #114", ISA_THUMB, 0xECB8EF39, 1 << 0},
        {"vldrb.u8 q0, [r9], #1", ISA_THUMB, 0xECB91E01, 1 << 9},
        {"vldrw.u32 q0, [q1, #4]!", ISA_THUMB, 0xFDB21E01, 0},
        {"vld20.16 {q4, q5}, [r0]!", ISA_THUMB, 0xFCB09E80, 1 << 0},
        {"vldr fpscr, [r12], #68", ISA_THUMB, 0xECBC2F91, 1 << 12},
        {"cx1d p0, r6, r7, #2310", ISA_THUMB, 0xEE126046, 1 << 6 | 1 << 7},
        {"cx3da p0, r6, r7, lr, r11, #7", ISA_THUMB, 0xFE8EB0F6, 1 << 6 | 1 << 7},
        {"mla r3, r1, r2, r4", ISA_ARM, 0xE0234291, 1 << 3},
        {"umaal r2, r3, r1, r4", ISA_ARM, 0xE0432491, 1 << 2 | 1 << 3},
        {"smlabb r1, r5, r4, r4", ISA_ARM, 0xE1014485, 1 << 1},
        {"smlalbb r2, r3, r1, r4", ISA_ARM, 0xE1432481, 1 << 2 | 1 << 3},
        {"smlad r11, r2, r12, r9", ISA_ARM, 0xE70B9C12, 1 << 11},
        {"smlald r2, r3, r1, r4", ISA_ARM, 0xE7432411, 1 << 2 | 1 << 3},
        {"strex r2, r3, [r0]", ISA_ARM, 0xE1802F93, 1 << 2},
        {"ldrexd r8, r9, [r3]", ISA_ARM, 0xE1B38F9F, 1 << 8 | 1 << 9},
        {"vadd.f32 s15, s14, s15", ISA_ARM, 0xEE777A27, 0},
        {"vld1.8 {d0}, [sp]!", ISA_ARM, 0xF42D070D, 1 << 13},
        {"mrc2 p1, 0, r0, c1, c0, 0", ISA_ARM, 0xFE110110, 1 << 0},
        {"umull r2, r3, r1, r2", ISA_ARM, 0xE0832291, 1 << 2 | 1 << 3},
        {"ldrsb r0, [r1, #4]", ISA_ARM, 0xE1D100D4, 1 << 0},
        {"uxtb r3, r4", ISA_ARM, 0xE6EF3074, 1 << 3},
        {"ldr r0, [r1]", ISA_ARM, 0xE5910000, 1 << 0},
        {"str r0, [r1]", ISA_ARM, 0xE5810000, 0},
        {"ldr r0, [r1], r2", ISA_ARM, 0xE6910002, 1 << 0 | 1 << 1},
        {"ldr x0, [x1]", ISA_A64, 0xF9400020, 1 << 0},
        {"str x0, [x1]", ISA_A64, 0xF9000020, 0},
        {"ldp x29, x30, [sp], #16", ISA_A64, 0xA8C17BFD, 1 << 29 | 1 << 30 | 1U << 31},
        {"str xzr, [x1]", ISA_A64, 0xF900003F, 0},
        {"cmp x0, x1", ISA_A64, 0xEB01001F, 0},
        {"mrs x0, pmccntr_el0", ISA_A64, 0xD53B9D00, 1 << 0},
        {"msr pmcr_el0, x0", ISA_A64, 0xD51B9C00, 0},
        {"fadd s28, s28, s13", ISA_A64, 0x1E2D2B9C, 0},
        {"add v1.8h, v24.8h, v27.8h", ISA_A64, 0x4E7B8701, 0},
        {"dup v29.4s, w4", ISA_A64, 0x4E0C0C9D, 0},
        {"fmov w5, s3", ISA_A64, 0x1E260065, 1 << 5},
        {"fmov s3, w5", ISA_A64, 0x1E2700A3, 0},
        {"fcvtzs w1, s2", ISA_A64, 0x1E380041, 1 << 1},
        {"fcvtzs w1, s2, #1", ISA_A64, 0x1E18FC41, 1 << 1},
        {"umov w1, v2.b[0]", ISA_A64, 0x0E013C41, 1 << 1},
        {"ccmp w14, w22, #11, ge", ISA_A64, 0x7A56A1CB, 0},
        {"fccmpe d19, d22, #10, nv", ISA_A64, 0x1E76F67A, 0},
        {"ldxp x1, x2, [x0]", ISA_A64, 0xC87F0801, 1 << 1 | 1 << 2},
        {"ldapur x1, [x2]", ISA_A64, 0xD9400041, 1 << 1},
        {"stlur x1, [x2]", ISA_A64, 0xD9000041, 0},
        {"stlxr w13, w17, [x24]", ISA_A64, 0x880DA711, 1 << 13},
        {"casal x25, x9, [x1]", ISA_A64, 0xC8F9FC29, 1 << 25},
        {"caspa x20, x21, x22, x23, [x23]", ISA_A64, 0x48747EF6, 1 << 20 | 1 << 21},
        {"cpyfp [x2]!, [x1]!, x0!", ISA_A64, 0x19010402, 1 << 0 | 1 << 1 | 1 << 2},
        {"setmn [x16]!, x1!, x0", ISA_A64, 0x19C06430, 1 << 1 | 1 << 16},
        {"stg x11, [x4, #-1520]!", ISA_A64, 0xD93A1C8B, 1 << 4},
        {"addg sp, x7, #32, #0", ISA_A64, 0x918200FF, 1U << 31},
        {"irg sp, x1", ISA_A64, 0x9ADF103F, 1U << 31},
        {"addvl sp, sp, #-1", ISA_A64, 0x043F57FF, 1U << 31},
        {"ldraa x9, [x5]", ISA_A64, 0xF833A4A9, 1 << 9},
        {"ldraa x9, [x5]!", ISA_A64, 0xF833ACA9, 1 << 5 | 1 << 9},
        {"prfm pldl1keep, [x0]", ISA_A64, 0xF9800000, 0},
        {"cntb x0", ISA_A64, 0x0420E3E0, 1 << 0},
        {"ptrue p0.b", ISA_A64, 0x2518E3E0, 0},
        {"add z1.b, z19.b, z5.b", ISA_A64, 0x04250261, 0},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct instruction one = instruction_of(lines[i].isa, lines[i].code, PLACE);
        if (one.writes != lines[i].writes)
            fail_msg("%s: 0x%X", lines[i].text, one.writes);
    }
}

TEST(changes_of_the_mode)
{
    static const struct {
        const char *text;
        enum instruction_set isa;
        uint32_t code;
        bool changes;
    } lines[] = {
        {"msr cpsr_c, r0", ISA_THUMB, 0xF3808100, true},
        {"msr cpsr_fc, r0", ISA_THUMB, 0xF3808900, true},
        {"msr cpsr_f, r0", ISA_THUMB, 0xF3808800, false}, /* of Armv7-M: APSR_nzcvq */
        {"msr spsr_c, r0", ISA_THUMB, 0xF3908100, false},
        {"msr sp_irq, r0", ISA_THUMB, 0xF3808130, false},
        {"msr primask, r0", ISA_THUMB, 0xF3808810, false},
        {"cps #19", ISA_THUMB, 0xF3AF8113, true},
        {"msr cpsr_c, r0", ISA_ARM, 0xE121F000, true},
        {"msr cpsr_c, #0x13", ISA_ARM, 0xE321F013, true},
        {"msr cpsr_f, r0", ISA_ARM, 0xE128F000, false},
        {"msr cpsr_f, #0x10000000", ISA_ARM, 0xE328F201, false},
        {"msr spsr_fc, r0", ISA_ARM, 0xE169F000, false},
        {"msr r9_fiq, r0", ISA_ARM, 0xE121F200, false},
        {"nop", ISA_ARM, 0xE320F000, false},
        {"cps #19", ISA_ARM, 0xF1020013, true},
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        if ((instruction_of(lines[i].isa, lines[i].code, PLACE).system == SYSTEM_MODE) != lines[i].changes)
            fail_msg("%s", lines[i].text);
}

TEST(exclusive_accesses)
{
    static const struct {
        const char *text;
        enum instruction_set isa;
        uint32_t code;
        int exclusive;
    } lines[] = {
        {"ldrex r3, [r2]", ISA_THUMB, 0xE8523F00, EXCLUSIVE_LOAD},
        {"ldrex r3, [r2, #4]", ISA_THUMB, 0xE8523F01, EXCLUSIVE_LOAD},
        {"ldrexb r0, [r1]", ISA_THUMB, 0xE8D10F4F, EXCLUSIVE_LOAD},
        {"ldrexh r0, [r1]", ISA_THUMB, 0xE8D10F5F, EXCLUSIVE_LOAD},
        {"ldrexd r4, r5, [r0]", ISA_THUMB, 0xE8D0457F, EXCLUSIVE_LOAD},
        {"ldaex r0, [r1]", ISA_THUMB, 0xE8D10FEF, EXCLUSIVE_LOAD},
        {"strex r1, r3, [r2]", ISA_THUMB, 0xE8423100, EXCLUSIVE_STORE},
        {"strexb r9, r6, [r11]", ISA_THUMB, 0xE8CB6F49, EXCLUSIVE_STORE},
        {"strexd r1, r12, lr, [r10]", ISA_THUMB, 0xE8CACE71, EXCLUSIVE_STORE},
        {"stlex r0, r1, [r2]", ISA_THUMB, 0xE8C21FE0, EXCLUSIVE_STORE},
        {"clrex", ISA_THUMB, 0xF3BF8F2F, EXCLUSIVE_CLEAR},
        {"tt r0, r1", ISA_THUMB, 0xE841F000, EXCLUSIVE_NONE},
        {"lda r0, [r1]", ISA_THUMB, 0xE8D10FAF, EXCLUSIVE_NONE},
        {"stl r1, [r0]", ISA_THUMB, 0xE8C01FAF, EXCLUSIVE_NONE},
        {"tbb [pc, r0]", ISA_THUMB, 0xE8DFF000, EXCLUSIVE_NONE},
        {"ldrd r0, r1, [r2]", ISA_THUMB, 0xE9D20100, EXCLUSIVE_NONE},
        {"ldrex r0, [r3]", ISA_ARM, 0xE1930F9F, EXCLUSIVE_LOAD},
        {"ldrexd r8, r9, [r3]", ISA_ARM, 0xE1B38F9F, EXCLUSIVE_LOAD},
        {"ldaex r0, [r1]", ISA_ARM, 0xE1910E9F, EXCLUSIVE_LOAD},
        {"strex r2, r3, [r0]", ISA_ARM, 0xE1802F93, EXCLUSIVE_STORE},
        {"strexeq r2, r3, [r0]", ISA_ARM, 0x01802F93, EXCLUSIVE_STORE},
        {"stlex r2, r3, [r0]", ISA_ARM, 0xE1802E93, EXCLUSIVE_STORE},
        {"clrex", ISA_ARM, 0xF57FF01F, EXCLUSIVE_CLEAR},
        {"lda r1, [r0]", ISA_ARM, 0xE1901C9F, EXCLUSIVE_NONE},
        {"stl r1, [r0]", ISA_ARM, 0xE180FC91, EXCLUSIVE_NONE},
        {"swp r0, r1, [r2]", ISA_ARM, 0xE1020091, EXCLUSIVE_NONE},
        {"ldaxr w0, [x1]", ISA_A64, 0x885FFC20, EXCLUSIVE_LOAD},
        {"ldxrb w0, [x1]", ISA_A64, 0x085F7C20, EXCLUSIVE_LOAD},
        {"ldxp x0, x2, [x1]", ISA_A64, 0xC87F0820, EXCLUSIVE_LOAD},
        {"stlxr w3, w0, [x1]", ISA_A64, 0x8803FC20, EXCLUSIVE_STORE},
        {"stxp w4, x0, x2, [x1]", ISA_A64, 0xC8240820, EXCLUSIVE_STORE},
        {"clrex", ISA_A64, 0xD5033F5F, EXCLUSIVE_CLEAR},
        {"ldar w0, [x1]", ISA_A64, 0x88DFFC20, EXCLUSIVE_NONE},
        {"stlr w0, [x1]", ISA_A64, 0x889FFC20, EXCLUSIVE_NONE},
        {"cas w0, w2, [x1]", ISA_A64, 0x88A07C22, EXCLUSIVE_NONE},
        {"casp x0, x1, x2, x3, [x4]", ISA_A64, 0x48207C82, EXCLUSIVE_NONE},
        {"ldadd w0, w2, [x1]", ISA_A64, 0xB8200022, EXCLUSIVE_NONE},
        {"ldr x0, [x1]", ISA_A64, 0xF9400020, EXCLUSIVE_NONE},
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        if ((int)instruction_of(lines[i].isa, lines[i].code, PLACE).exclusive != lines[i].exclusive)
            fail_msg("%s", lines[i].text);
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
        {aarch32_breakpoint, 0x100, 0xE10F0070, "HLT", 0xF000, 4, true},
        {aarch32_breakpoint, 0x100, 0xE1012374, "HLT", 0x1234, 4, false},
        {aarch32_breakpoint, 0x102, 0xBABC4770, "HLT", 0x3C, 2, true},
        {aarch32_breakpoint, 0x100, 0xBF00BA81, "HLT", 1, 2, false},
        {aarch32_breakpoint, 0x100, 0xE1212374, NULL, 0, 0, false}, /* bkpt halts nothing */
        {aarch32_breakpoint, 0x102, 0xBAC04770, NULL, 0, 0, false}, /* revsh */
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
