// RP2350: the block by which its boot ROM knows a program, within the first 4 KB of flash (RP2350 data sheet 5.9.5.1): an
// executable for the Arm cores in Secure state, started by the vector table at its beginning.

    .equ BLOCK_BEGIN, 0xFFFFDED3
    .equ BLOCK_END, 0xAB123579
    .equ ITEM_IMAGE_TYPE, 0x42
    .equ ITEM_LAST, 0xFF
    .equ EXECUTABLE_SECURE_ARM_RP2350, 0x1021

    .section .vectors, "a", %progbits // after the table, by the order of linking
    .balign 4
    .word BLOCK_BEGIN
    .byte ITEM_IMAGE_TYPE, 1 // words
    .hword EXECUTABLE_SECURE_ARM_RP2350
    .byte ITEM_LAST
    .hword 1 // words of the items before
    .byte 0
    .word 0 // to the next block: there is this one only
    .word BLOCK_END
