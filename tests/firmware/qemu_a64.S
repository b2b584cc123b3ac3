// For QEMU's Cortex-A53: a loop that calls a function, and the PMU's cycle counter running.
    .text
    .global start, work, again
    .type work, %function
start:
    mov x1, #1
    msr pmcr_el0, x1
    mov x1, #0x80000000
    msr pmcntenset_el0, x1
again:
    bl work
    b again
work:
    add x2, x2, #1
    nop
    ret
    .size work, . - work
