// Start, vectors and user mode on QEMU's Armv7-A cores. Two ways in: _start, and spoiled_start, which divides the cycle
// counter by 64, gives every register a known value, and goes through the image that is started before an application; that
// one goes on to after_image. spoiled_guest has the monitor running so.
    .syntax unified
    .arm
    .equ MODE_USR, 0x10
    .equ MODE_IRQ, 0x12
    .equ MODE_SVC, 0x13
    .equ MODE_UND, 0x1B
    .equ MODE_SYS, 0x1F
    .equ SENTINEL, 0xA5000000
    .equ PMCR_E, 1
    .equ PMCR_D, 8

    .section .text.start, "ax", %progbits
    .global _start
_start:
    mov r4, #0
begin:
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0
    cps #MODE_IRQ
    ldr sp, =irq_stack
    cps #MODE_UND
    ldr sp, =und_stack
    cps #MODE_SYS
    ldr sp, =user_stack
    cps #MODE_SVC
    ldr sp, =kernel_stack
    ldr r0, =bss_start
    ldr r1, =bss_end
    mov r2, #0
1:  cmp r0, r1
    strlo r2, [r0], #4
    blo 1b
    ldr r0, =registers_changed
    str r4, [r0]
    bl main
    mov r0, #0x18
    ldr r1, =0x20026
    svc #0x123456
    b .

    .global spoiled_start, spoiled_guest
spoiled_guest:
    mov r0, #PMCR_D | PMCR_E
    b 3f
spoiled_start:
    mov r0, #PMCR_D
3:  mcr p15, 0, r0, c9, c12, 0
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14
    ldr r\n, =SENTINEL + \n
    .endr
    ldr r12, =image_at
    bx r12

    .global after_image
after_image:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14
    ldr r12, =SENTINEL + \n
    cmp r\n, r12
    bne 2f
    .endr
    mov r4, #0
    b begin
2:  mov r4, #1
    b begin
    .pool

    .align 5
vectors:
    b .
    b undefined
    b supervisor
    b .
    b .
    b .
    b interrupt
    b .

// r0: what to run
    .global run_user
    .type run_user, %function
run_user:
    push {r4-r11, lr}
    mrs r4, cpsr
    push {r4, r5}
    ldr r1, =user_trapped
    mov r2, #0
    str r2, [r1]
    bic r4, r4, #0x1F
    orr r4, r4, #MODE_USR
    msr spsr_cxsf, r4
    cps #MODE_SYS
    ldr lr, =user_done
    cps #MODE_SVC
    mov lr, r0
    movs pc, lr
user_done:
    svc #0

undefined:
    ldr r0, =user_trapped
    mov r1, #1
    str r1, [r0]
    cps #MODE_SVC
    mov r0, #0
    mov r1, #0
supervisor:
    pop {r4, r5}
    msr cpsr_cxsf, r4
    pop {r4-r11, pc}

interrupt:
    sub lr, lr, #4
    srsdb sp!, #MODE_IRQ
    push {r0-r3, r12, lr}
    bl irq_entry
    pop {r0-r3, r12, lr}
    rfeia sp!
    .pool
