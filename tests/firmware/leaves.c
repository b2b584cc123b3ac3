// Functions that do not return to where they were called, and tasks that share code: what a measurement from
// an entry to a return must not take for one call. On Cortex-M PendSV switches between tasks with stacks of
// their own.
#include <stdint.h>

#define ALONE       __attribute__((noinline, noclone, used))
#define PLACE(name) __asm volatile(".global " #name "\n" #name ":" ::: "memory")

volatile uint32_t round_count, sink, jumped_count, what, scenario;
static void *env[5];
static volatile uint32_t seed = 1;

enum { DO_JUMPS = 1, DO_NEVER = 2, DO_SELF = 4, DO_NEST = 8 };

static uint32_t random_number(void)
{
    uint32_t next = seed * 1664525u + 1013904223u;
    seed = next;
    return next >> 16;
}

ALONE void spin(uint32_t n)
{
    for (; n; n--)
        __asm volatile("");
}

// Where longjmp is, deeper than the function that is left
ALONE void deep(uint32_t n)
{
    spin(n);
    if (n & 1) {
        jumped_count++;
        __builtin_longjmp(env, 1);
    }
    sink += n;
}

ALONE void may_jump(uint32_t n)
{
    spin(n);
    deep(n);
    spin(n);
}

ALONE __attribute__((noreturn)) void never(uint32_t n)
{
    spin(n);
    __builtin_longjmp(env, 1);
}

// The same, but the compiler does not know it of the function that is measured
ALONE __attribute__((noreturn)) void ends_in(void (*how)(uint32_t))
{
    how(20);
    __builtin_unreachable();
}

ALONE void jumps(uint32_t n)
{
    spin(n);
    __builtin_longjmp(env, 1);
}

ALONE void behind(void)
{
    spin(3);
}

#if defined(__arm__) && __ARM_ARCH_PROFILE == 'M'
// All its callers are within itself
__asm(".syntax unified\n"
      ".global self_return\n"
      ".type self_return, %function\n"
      ".thumb_func\n"
      "self_return: nop\n"
      "bx lr\n"
      ".global enter_self\n"
      ".thumb_func\n"
      "enter_self: push {r4, lr}\n"
      "bl self_return\n"
      "pop {r4, pc}\n"
      ".size self_return, . - self_return\n");
void enter_self(void);
#else
static void enter_self(void)
{
}
#endif

// Calls in calls, each with something left to do: a stack to be shown
ALONE uint32_t nest_inner(uint32_t n)
{
    spin(n);
    return n + sink;
}

ALONE uint32_t nest_middle(uint32_t n)
{
    uint32_t value = nest_inner(n);
    spin(n);
    return value * 3 + sink;
}

ALONE uint32_t nest_outer(uint32_t n)
{
    uint32_t value = nest_middle(n) + nest_inner(n + 1);
    return value * 5 + sink;
}

ALONE void one_round(void)
{
    uint32_t n = 10 + (random_number() & 31);
    if (__builtin_setjmp(env) == 0) {
        if (what & DO_JUMPS)
            may_jump(n);
        if (what & DO_NEVER)
            ends_in(n & 1 ? never : jumps);
    }
    behind();
    if (what & DO_SELF)
        enter_self();
    if (what & DO_NEST)
        sink = nest_outer(n);
    spin(5 + (random_number() & 15));
    round_count++;
}

#if defined(__arm__) && __ARM_ARCH_PROFILE == 'M'

#define SYST_CSR (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)
#define ICSR     (*(volatile uint32_t *)0xE000ED04)
#define SHPR3    (*(volatile uint32_t *)0xE000ED20)

enum { TASKS = 3, STACK = 128, PERIOD = 2400, PENDSVSET = 1 << 28, VICTIM = 2 };

volatile uint32_t tick_count, switch_count, kill_count, tasks_wanted;
static uint32_t stacks[TASKS][STACK] __attribute__((aligned(8)));
static uint32_t *saved[TASKS];
static volatile uint32_t current;

// Three tasks are in here, and each is switched away from in its middle
ALONE uint32_t shared(uint32_t n)
{
    uint32_t value = n;
    PLACE(shared_begin);
    spin(n);
    value += sink;
    spin(n);
    PLACE(shared_end);
    return value;
}

// Killed in its middle now and then, and begun anew
ALONE void victim(uint32_t n)
{
    spin(n);
    sink++;
}

static void share(void)
{
    for (;;) {
        shared(100 + (random_number() & 63));
        if (what & DO_NEST)
            sink = nest_outer(20);
        spin(20);
    }
}

static void suffer(void)
{
    for (;;) {
        victim(600 + (random_number() & 255));
        spin(10);
    }
}

static void create(uint32_t which, void (*begin)(void))
{
    uint32_t *top = stacks[which] + STACK;
    *--top = 0x01000000;
    *--top = (uint32_t)begin;
    for (int i = 0; i < 6 + 8; i++)
        *--top = 0;
    saved[which] = top;
}

ALONE uint32_t *next_task(uint32_t *sp)
{
    saved[current] = sp;
    switch_count++;
    if (current != VICTIM && switch_count % 5 == 0) {
        kill_count++;
        create(VICTIM, suffer);
    }
    current = current + 1 < TASKS ? current + 1 : 0;
    return saved[current];
}

ALONE __attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(".syntax unified\n"
                   "mrs r0, psp\n"
                   "subs r0, #32\n"
                   "stmia r0!, {r4-r7}\n"
                   "mov r4, r8\n"
                   "mov r5, r9\n"
                   "mov r6, r10\n"
                   "mov r7, r11\n"
                   "stmia r0!, {r4-r7}\n"
                   "subs r0, #32\n"
                   "push {r3, lr}\n"
                   "bl next_task\n"
                   "adds r0, #16\n"
                   "ldmia r0!, {r4-r7}\n"
                   "mov r8, r4\n"
                   "mov r9, r5\n"
                   "mov r10, r6\n"
                   "mov r11, r7\n"
                   "msr psp, r0\n"
                   "subs r0, #32\n"
                   "ldmia r0!, {r4-r7}\n"
                   "pop {r3, pc}\n");
}

// Returns at once, or counts, or has a task switch follow it
ALONE void SysTick_Handler(void)
{
    uint32_t count = tick_count + 1;
    tick_count = count;
    if (count & 1)
        return;
    spin(count & 7);
    ICSR = PENDSVSET;
}

static void run_tasks(void)
{
    create(0, share);
    create(1, share);
    create(VICTIM, suffer);
    SHPR3 = 0xC0C00000;
    SYST_CSR = 0;
    SYST_RVR = PERIOD - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
    __asm volatile("msr psp, %0\n"
                   "movs r0, #2\n"
                   "msr control, r0\n"
                   "isb\n"
                   "bx %1" ::"r"(stacks[0] + STACK),
                   "r"(share)
                   : "r0");
}

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[];

__attribute__((used, noreturn)) void Reset_Handler(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    for (round_count = 1;;) {
        if (tasks_wanted)
            run_tasks();
        one_round();
    }
}

ALONE void Default_Handler(void)
{
    for (;;)
        ;
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[16 + 32] = {
    (vector)stack_top,     Reset_Handler,          [2 ... 13] = Default_Handler,
    [14] = PendSV_Handler, [15] = SysTick_Handler, [16 ... 16 + 31] = Default_Handler,
};

#else

volatile uint32_t irq3_count, undefined_count, svc_count, abort_count;
char core1_stack[0x2000] __attribute__((section(".noinit"), aligned(16)));
extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[];

void core1_main(void)
{
    for (;;)
        ;
}

__attribute__((noreturn)) void start(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    for (;;)
        one_round();
}

#endif
