// Start, vectors and user mode on QEMU's Armv8-A cores. Two ways in: _start at EL1, and spoiled_start, which divides the
// cycle counter by 64, at EL3 sets every trap of the performance monitor, gives every register a known value, and goes
// through the image that is started before an application; that one goes on to after_image, which drops to EL1. spoiled_guest
// has the monitor running so.
    .equ SENTINEL, 0xA500
    .equ PMCR_E, 1
    .equ PMCR_D, 8
    .equ MDCR_SPOILED, 0x61 // TPM, TPMCR, HPMN = 1; of MDCR_EL3 it is TPM
    .equ SCR_NS_RW, 0x431
    .equ HCR_RW, 0x80000000
    .equ EL1H_MASKED, 0x3C5

    .section .text.start, "ax", %progbits
    .global _start
_start:
    mov x19, #0
begin:
    ldr x0, =vectors
    msr vbar_el1, x0
    ldr x0, =kernel_stack
    mov sp, x0
    ldr x0, =user_stack
    msr sp_el0, x0
    ldr x0, =bss_start
    ldr x1, =bss_end
1:  cmp x0, x1
    b.hs 2f
    str xzr, [x0], #8
    b 1b
2:  ldr x0, =registers_changed
    str w19, [x0]
    bl main
    mov x0, #0x18
    ldr x1, =exit_block
    hlt #0xF000
    b .

    .global spoiled_start, spoiled_guest
spoiled_guest:
    mov x0, #PMCR_D | PMCR_E
    b 7f
spoiled_start:
    mov x0, #PMCR_D
7:  msr pmcr_el0, x0
    mrs x0, currentel
    cmp x0, #0xC
    b.ne 3f
    mov x0, #MDCR_SPOILED
    msr mdcr_el2, x0
    mov x0, #0x40
    msr mdcr_el3, x0
    isb
3:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    ldr x\n, =SENTINEL + \n
    .endr
    mov sp, x30
    ldr x16, =image_at
    br x16

    .global after_image
after_image:
    mov x16, sp
    cmp x16, x30
    b.ne 4f
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    ldr x16, =SENTINEL + \n
    cmp x\n, x16
    b.ne 4f
    .endr
    mov x19, #0
    b 5f
4:  mov x19, #1
5:  mrs x0, currentel
    cmp x0, #0xC
    b.ne begin
    ldr x0, =SCR_NS_RW
    msr scr_el3, x0
    ldr x0, =HCR_RW
    msr hcr_el2, x0
    mov x0, #EL1H_MASKED
    msr spsr_el3, x0
    adr x0, begin
    msr elr_el3, x0
    eret
    .pool

// x0: what to run
    .global run_user
    .type run_user, %function
run_user:
    stp x29, x30, [sp, #-112]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    mrs x1, daif
    str x1, [sp, #96]
    ldr x2, =user_trapped
    str wzr, [x2]
    msr spsr_el1, x1 // EL0, interrupts as they are
    msr elr_el1, x0
    ldr x30, =user_done
    eret
user_done:
    svc #0

synchronous:
    mrs x1, esr_el1
    lsr x1, x1, #26
    cmp x1, #0x15
    b.eq 6f
    ldr x2, =user_trapped
    mov w1, #1
    str w1, [x2]
    mov x0, #0
6:  ldr x1, [sp, #96]
    msr daif, x1
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #112
    ret

interrupt:
    sub sp, sp, #176
    .irp n, 0, 2, 4, 6, 8, 10, 12, 14, 16
    str x\n, [sp, #\n * 8]
    .endr
    .irp n, 1, 3, 5, 7, 9, 11, 13, 15, 17
    str x\n, [sp, #\n * 8]
    .endr
    stp x18, x30, [sp, #144]
    bl irq_entry
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
    ldr x\n, [sp, #\n * 8]
    .endr
    ldp x18, x30, [sp, #144]
    add sp, sp, #176
    eret

// Synchronous and IRQ, of EL1 and of EL0
    .align 11
vectors:
    .rept 4
    b synchronous
    .align 7
    b interrupt
    .align 7
    b .
    .align 7
    b .
    .align 7
    .endr
    .pool

    .section .rodata
    .align 3
exit_block:
    .quad 0x20026, 0
