// A small real-time kernel and three tasks of three priorities: one samples every few ticks, one filters what
// the first one queues, one does what is left of the time. SysTick is the time, PendSV switches.
#include <stdint.h>
#include <string.h>

#define ALONE __attribute__((noinline, noclone, used))

#define SYST_CSR (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)
#define ICSR     (*(volatile uint32_t *)0xE000ED04)
#define SHPR3    (*(volatile uint32_t *)0xE000ED20)

enum { TASKS = 3, STACK = 256, PERIOD = 12000, PENDSVSET = 1 << 28, QUEUE = 8, TAPS = 12, BLOCK = 16 };

// By the name that FreeRTOS gives it, as is the pointer to the one that runs: tools know these
struct tskTaskControlBlock {
    uint32_t *sp;
    uint32_t wakes_at; // a tick
    uint8_t waits, awaits_data;
    char pcTaskName[10];
};

struct queue {
    int32_t items[QUEUE];
    uint32_t head, tail;
};

const uint32_t SystemCoreClock __attribute__((used)) = 12000000;
volatile uint32_t round_count, scenario, tick_count, switch_count, output, lost_count;
static uint32_t stacks[TASKS][STACK] __attribute__((aligned(8)));
static struct tskTaskControlBlock tasks[TASKS]; // the first that can run, runs
static struct tskTaskControlBlock *volatile pxCurrentTCB __attribute__((used));
static volatile uint32_t current;
static struct queue samples;
static uint32_t seed = 1;

// --- the kernel

static uint32_t lock(void)
{
    uint32_t was;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(was)::"memory");
    return was;
}

static void unlock(uint32_t was)
{
    __asm volatile("msr primask, %0" ::"r"(was) : "memory");
}

static void yield(void)
{
    ICSR = PENDSVSET;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

ALONE uint32_t pick_task(void)
{
    for (uint32_t i = 0; i < TASKS; i++)
        if (!tasks[i].waits)
            return i;
    return TASKS - 1;
}

ALONE uint32_t *switch_task(uint32_t *sp)
{
    tasks[current].sp = sp;
    current = pick_task();
    pxCurrentTCB = &tasks[current];
    switch_count++;
    return tasks[current].sp;
}

// r4 to r11 on the task's own stack
__attribute__((naked, used)) void PendSV_Handler(void)
{
    __asm volatile(".syntax unified\n"
                   "mrs r0, psp\n"
                   "subs r0, #32\n"
                   "mov r1, r0\n"
                   "stmia r1!, {r4-r7}\n"
                   "mov r4, r8\n"
                   "mov r5, r9\n"
                   "mov r6, r10\n"
                   "mov r7, r11\n"
                   "stmia r1!, {r4-r7}\n"
                   "mov r4, lr\n"
                   "bl switch_task\n"
                   "mov lr, r4\n"
                   "mov r1, r0\n"
                   "adds r1, #16\n"
                   "ldmia r1!, {r4-r7}\n"
                   "mov r8, r4\n"
                   "mov r9, r5\n"
                   "mov r10, r6\n"
                   "mov r11, r7\n"
                   "msr psp, r1\n"
                   "ldmia r0!, {r4-r7}\n"
                   "bx lr\n");
}

ALONE void wake_tasks(void)
{
    for (uint32_t i = 0; i < TASKS; i++)
        if (tasks[i].waits && !tasks[i].awaits_data && (int32_t)(tick_count - tasks[i].wakes_at) >= 0)
            tasks[i].waits = 0;
}

ALONE void SysTick_Handler(void)
{
    tick_count++;
    wake_tasks();
    ICSR = PENDSVSET;
}

ALONE void task_sleep(uint32_t ticks)
{
    uint32_t was = lock();
    tasks[current].wakes_at = tick_count + ticks;
    tasks[current].awaits_data = 0;
    tasks[current].waits = 1;
    unlock(was);
    yield();
}

ALONE void queue_put(struct queue *queue, int32_t value)
{
    uint32_t was = lock();
    if (queue->head - queue->tail == QUEUE)
        lost_count++;
    else
        queue->items[queue->head++ % QUEUE] = value;
    for (uint32_t i = 0; i < TASKS; i++)
        if (tasks[i].awaits_data)
            tasks[i].waits = tasks[i].awaits_data = 0;
    unlock(was);
}

ALONE int32_t queue_take(struct queue *queue)
{
    for (;;) {
        uint32_t was = lock();
        if (queue->head != queue->tail) {
            int32_t value = queue->items[queue->tail++ % QUEUE];
            unlock(was);
            return value;
        }
        tasks[current].awaits_data = 1;
        tasks[current].waits = 1;
        unlock(was);
        yield();
    }
}

// --- the tasks

ALONE int32_t read_sensor(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (int32_t)(seed >> 20) - 2048;
}

ALONE void sampling_task(void)
{
    for (;;) {
        for (unsigned i = 0; i < 3; i++)
            queue_put(&samples, read_sensor());
        task_sleep(2);
    }
}

ALONE int32_t fir_filter(int32_t value)
{
    static const int16_t taps[TAPS] = {12, -30, 55, 120, 340, 510, 510, 340, 120, 55, -30, 12};
    static int32_t past[TAPS];
    int32_t sum = 0;
    memmove(past + 1, past, sizeof past - sizeof past[0]);
    past[0] = value;
    for (unsigned i = 0; i < TAPS; i++)
        sum += taps[i] * past[i];
    return sum >> 11;
}

ALONE void filter_task(void)
{
    for (;;)
        output = (uint32_t)fir_filter(queue_take(&samples));
}

ALONE uint32_t crc_of(const uint8_t *bytes, uint32_t n)
{
    uint32_t crc = 0xFFFFFFFF;
    for (; n; n--) {
        crc ^= *bytes++;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xEDB88320 & -(crc & 1));
    }
    return ~crc;
}

ALONE void pack_block(uint8_t *block, uint32_t key)
{
    for (unsigned i = 0; i < BLOCK; i++)
        block[i] = (uint8_t)(key >> (i & 3) * 8 ^ i);
}

ALONE void idle_task(void)
{
    uint8_t block[BLOCK];
    for (;;) {
        pack_block(block, round_count);
        output ^= crc_of(block, 2 + (round_count & 13));
        round_count++;
    }
}

static void create(uint32_t which, const char *name, void (*begin)(void))
{
    uint32_t *top = stacks[which] + STACK;
    *--top = 0x01000000;
    *--top = (uint32_t)begin;
    for (int i = 0; i < 6 + 8; i++)
        *--top = 0;
    tasks[which] = (struct tskTaskControlBlock){.sp = top};
    strcpy(tasks[which].pcTaskName, name);
}

// The idle task takes the place of main on its own stack
static __attribute__((noreturn)) void start_tasks(void)
{
    create(0, "sampling", sampling_task);
    create(1, "filter", filter_task);
    create(2, "IDLE", idle_task);
    current = TASKS - 1;
    pxCurrentTCB = &tasks[current];
    SHPR3 = 0xC0C00000;
    SYST_RVR = PERIOD - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
    __asm volatile("msr psp, %0\n\tmovs r0, #2\n\tmsr control, r0\n\tisb" ::"r"(stacks[TASKS - 1] + STACK)
                   : "r0", "memory");
    idle_task();
    for (;;)
        ;
}

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[];

__attribute__((used, noreturn)) void Reset_Handler(void)
{
    memcpy(data_start, data_load, (uint32_t)((char *)data_end - (char *)data_start));
    memset(bss_start, 0, (uint32_t)((char *)bss_end - (char *)bss_start));
    start_tasks();
}

ALONE void Default_Handler(void)
{
    for (;;)
        ;
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    (vector)stack_top,      Reset_Handler,         [2 ... 6] = Default_Handler,
    [11] = Default_Handler, [14] = PendSV_Handler, [15] = SysTick_Handler,
};
