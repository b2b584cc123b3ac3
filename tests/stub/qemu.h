// What the programs on QEMU's "virt" machine have in common: report() prints a line "name
// value" on the serial port, which the test reads; user mode; the interrupt controller; a clock that is not
// the performance monitor's.
#ifndef STUB_QEMU_H
#define STUB_QEMU_H

#include <stdint.h>

// Runs `what` in user mode. Where that hits an exception, user_trapped is 1 and 0 is returned.
uint64_t run_user(uint64_t (*what)(void));
extern volatile uint32_t user_trapped;

void interrupts_init(void);
void interrupts_mask(void);
void interrupts_unmask(void);
// Of the overflow interrupt; the program's own
void overflow_handler(void);
extern volatile uint32_t interrupt_count;

// Ticks of 16 ns of the virtual time: QEMU's cores have 16 cycles in one, whatever they execute
uint64_t clock_read(void);

// Registers that what ran before main() should have kept and did not
extern volatile uint32_t registers_changed;

int main(void);
#endif
