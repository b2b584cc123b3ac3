// RP2040: what its boot ROM copies to the end of RAM and runs (RP2040 data sheet 2.8.1.3.1), if the CRC after it is right.
// It has flash answer to the plain read command 03h that all of them know, and starts the program after it. Slower than
// quad reads, but all that is measured is in the cache from its second round on. Registers: 4.10.13 there.

    .syntax unified
    .thumb

    .equ SSI, 0x18000000
    .equ SSI_CTRLR0, 0x00
    .equ SSI_CTRLR1, 0x04
    .equ SSI_SSIENR, 0x08
    .equ SSI_BAUDR, 0x14
    .equ SSI_SPI_CTRLR0, 0xF4
    .equ READ_32_BITS_AFTER_ADDRESS, 0x001F0300 // DFS_32 31, TMOD EEPROM read
    .equ COMMAND_03H, 0x03000218 // 8 bits of command, 24 of address, on one wire
    .equ QUARTER_OF_THE_CLOCK, 4
    .equ VTOR, 0xE000ED08
    .equ PROGRAM, 0x10000100

    .section .boot2, "ax", %progbits
    .thumb_func
boot2:
    ldr r3, =SSI
    movs r1, #0
    str r1, [r3, #SSI_SSIENR]
    movs r0, #QUARTER_OF_THE_CLOCK
    str r0, [r3, #SSI_BAUDR]
    ldr r0, =READ_32_BITS_AFTER_ADDRESS
    str r0, [r3, #SSI_CTRLR0]
    str r1, [r3, #SSI_CTRLR1]
    ldr r0, =COMMAND_03H
    movs r2, #SSI_SPI_CTRLR0
    str r0, [r3, r2]
    movs r1, #1
    str r1, [r3, #SSI_SSIENR]
    ldr r0, =PROGRAM
    ldr r1, =VTOR
    str r0, [r1]
    ldmia r0!, {r1, r2}
    mov sp, r1
    bx r2
    .pool
    .org 252
    .word 0x3FA70320 // CRC-32 (polynomial 0x04C11DB7, from all ones, not reflected) of what is before
