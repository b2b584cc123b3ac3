// Chips that run at one clock from the reset on: STM32F4 at its HSI of 16 MHz, with which flash has no wait
// states; STM32H7 at 64 MHz.
#include "sequences.h"

const uint32_t SystemCoreClock __attribute__((used)) = CLOCK_HZ;
