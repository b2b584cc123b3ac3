/* SPDX-License-Identifier: MIT */
#include "run/tasks.h"

#include "profile/sampler.h"
#include "report/terminal.h"
#include "run/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* FreeRTOS, with several cores, ThreadX, Zephyr (kernel_structs.h). */
static const struct known_task {
    const char *variable;
    uint64_t offset, each_core;
    const char *structure, *member; /* of what the variable points to: the task's name */
} known_tasks[] = {
    {"pxCurrentTCB", 0, 0, "tskTaskControlBlock", "pcTaskName"},
    {"pxCurrentTCBs", 0, 4, "tskTaskControlBlock", "pcTaskName"},
    {"_tx_thread_current_ptr", 0, 0, "TX_THREAD_STRUCT", "tx_thread_name"},
    {"_kernel", 8, 0, "k_thread", "name"},
};

enum { WORD = 4 };

/* False: the program does not have it. */
static bool find_known(struct tasks *tasks, struct symbols *symbols, const struct known_task *known,
                       unsigned core, uint64_t *address)
{
    uint64_t size, at = known->offset + known->each_core * core;
    if (!symbols_object(symbols, known->variable, address, &size) || at + 4 > size)
        return false;
    *address += at;
    tasks->size = WORD;
    tasks->variable = known->variable;
    tasks->has_names = symbols_member(symbols, known->structure, known->member, &tasks->name);
    return true;
}

bool tasks_find(struct tasks *tasks, struct symbols *symbols, const char *wanted, unsigned core,
                uint64_t *address, struct error *error)
{
    uint64_t size;
    for (size_t i = 0; symbols != NULL && i < sizeof known_tasks / sizeof *known_tasks; i++)
        if ((wanted == NULL || strcmp(wanted, known_tasks[i].variable) == 0) &&
            find_known(tasks, symbols, &known_tasks[i], core, address))
            return true;
    *address = 0;
    if (wanted == NULL)
        return true;
    tasks->variable = wanted;
    tasks->size = WORD;
    if (wanted[0] == '*' && value_count(wanted + 1, UINT32_MAX, address) && *address != 0 &&
        *address % WORD == 0)
        return true;
    if (symbols == NULL || !symbols_object(symbols, wanted, address, &size))
        return error_set(error, ERROR_SYMBOL,
                         "--task: \"%.64s\" is neither a variable of the ELF nor an *ADDRESS of a word",
                         wanted);
    if (size == 1 || size == 2)
        tasks->size = (unsigned)size;
    return ((tasks->takes_parts || tasks->size == WORD) && size != 3 && *address % tasks->size == 0) ||
           error_advise(error, ERROR_SYMBOL,
                        tasks->takes_parts ? "Name another variable." : "Name a word, or use tasks --task.",
                        "--task: \"%.64s\" has %" PRIu64 " byte%s at 0x%" PRIx64
                        ", and what is read are %s at "
                        "a multiple of their size",
                        wanted, size, size == 1 ? "" : "s", *address,
                        tasks->takes_parts ? "1, 2 or 4 bytes" : "4 bytes");
}

bool tasks_change_cores(struct symbols *symbols)
{
    /* Of FreeRTOS, ThreadX, Zephyr and Linux, only if they are built for several cores. An older
     * kernel/smp.c of Zephyr has another name, which a program may have without it */
    static const char *const variables[] = {"pxCurrentTCBs", "_tx_thread_smp_protection", "cpu_start_flag",
                                            "__per_cpu_offset"};
    uint64_t address, size;
    if (symbols != NULL && symbols_object(symbols, "start_flag", &address, &size) &&
        symbols_object(symbols, "_kernel", &address, &size))
        return true;
    for (size_t i = 0; symbols != NULL && i < sizeof variables / sizeof *variables; i++)
        if (symbols_object(symbols, variables[i], &address, &size))
            return true;
    return false;
}

bool tasks_start_cores(struct symbols *symbols)
{
    /* Of the Pico SDK, Zephyr by its age, and the MCUXpresso SDK */
    static const char *const functions[] = {"multicore_launch_core1_raw",
                                            "multicore_launch_core1",
                                            "arch_cpu_start",
                                            "arch_start_cpu",
                                            "_arch_start_cpu",
                                            "z_arch_start_cpu",
                                            "MCMGR_StartCore"};
    char name[LOCATION_NAME];
    for (size_t i = 0; symbols != NULL && symbols_function_name(symbols, i, name, sizeof name); i++)
        for (size_t j = 0; j < sizeof functions / sizeof *functions; j++)
            if (strcmp(name, functions[j]) == 0)
                return true;
    return false;
}

static bool is_asked(struct tasks *tasks, uint64_t task)
{
    for (size_t i = 0; i < tasks->n; i++)
        if (tasks->asked[i] == task)
            return true;
    if (tasks->n == TASKS_NAMED)
        return true;
    tasks->asked[tasks->n++] = task;
    return false;
}

static bool tasks_read_word(const struct tasks *tasks, struct ledger *ledger, const struct core *core,
                            uint64_t at, uint64_t *word, const struct deadline *deadline, struct error *error)
{
    struct step item;
    struct steps list = {.items = &item, .room = 1};
    bool asleep;
    if (tasks->sleeps == NULL)
        return ledger_read(ledger, core_word(core, at), word, deadline, error);
    steps_add(&list, step_read(core_word(core, at)));
    return awake_read(tasks->sleeps, core, &list, word, &asleep, deadline, error) &&
           (!asleep || error_set(error, ERROR_ASLEEP, "memory cannot be read while the core sleeps"));
}

/* Bytes in words: some buses take no others. */
static bool tasks_read_bytes(const struct tasks *tasks, struct ledger *ledger, const struct core *core,
                             uint64_t at, char *out, size_t n, const struct deadline *deadline,
                             struct error *error)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        if ((i == 0 || (at + i) % 4 == 0) &&
            !tasks_read_word(tasks, ledger, core, (at + i) & ~UINT64_C(3), &word, deadline, error))
            return false;
        out[i] = (char)(word >> 8 * ((at + i) % 4));
    }
    return true;
}

/* Without an error in `unread` a task of this value has no name. */
static bool tasks_read_name(struct tasks *tasks, struct ledger *ledger, const struct core *core,
                            uint64_t task, char name[TASK_NAME], const struct deadline *deadline,
                            struct error *unread)
{
    uint64_t at = task + tasks->name.offset, pointed = 1;
    size_t n = tasks->name.size < TASK_NAME ? (size_t)tasks->name.size : TASK_NAME - 1;
    char clean[UTF8_CLEAN_ROOM(TASK_NAME)];
    name[0] = '\0';
    if (!tasks->has_names || task == 0 || task % 4 != 0 || at > UINT32_MAX)
        return false;
    bool ok = true;
    if (tasks->name.is_pointer) {
        ok = tasks_read_word(tasks, ledger, core, at, &pointed, deadline, unread);
        at = pointed;
        n = TASK_NAME - 1;
    }
    ok = ok && (pointed == 0 || tasks_read_bytes(tasks, ledger, core, at, name, n, deadline, unread));
    if (unread->kind != ERROR_NONE && !sampler_is_passing(unread))
        tasks->has_names = false; /* of a link that is gone one attempt is enough */
    name[ok && pointed != 0 ? n : 0] = '\0';
    if (strcmp(utf8_clean(clean, sizeof clean, name), name) != 0)
        name[0] = '\0';
    return ok;
}

bool tasks_name_again(struct tasks *tasks, struct ledger *ledger, const struct core *core, uint64_t task,
                      char name[TASK_NAME], const struct deadline *deadline)
{
    struct error unread = {0};
    return tasks_read_name(tasks, ledger, core, task, name, deadline, &unread);
}

bool tasks_name(struct tasks *tasks, struct ledger *ledger, const struct core *core, uint64_t task,
                char name[TASK_NAME], const struct deadline *deadline)
{
    bool is_new = tasks->has_names && task != 0 && task % 4 == 0 && task + tasks->name.offset <= UINT32_MAX &&
                  !is_asked(tasks, task);
    return is_new && tasks_name_again(tasks, ledger, core, task, name, deadline) && name[0] != '\0';
}

/* ---- names while a run goes on */

static const char no_task[] = "no task";

/* False: it cannot be read now. */
static bool read_row(struct task_row *row, struct tasks *tasks, struct ledger *ledger, char name[TASK_NAME],
                     const struct deadline *deadline)
{
    struct error unread = {0};
    uint64_t at = row->value + tasks->name.offset;
    row->text = at;
    if (!tasks_read_name(tasks, ledger, row->core, row->value, name, deadline, &unread) ||
        (tasks->name.is_pointer &&
         !tasks_read_word(tasks, ledger, row->core, at, &row->text, deadline, &unread)))
        row->text = 0;
    return tasks->has_names && (unread.kind == ERROR_NONE || unread.kind == ERROR_FAULT);
}

void task_rows_meet(struct task_rows *rows, struct tasks *tasks, struct ledger *ledger,
                    const struct core *core, uint64_t value, const struct deadline *deadline)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->rows[i].value == value)
            return;
    if (!tasks->has_names || rows->n == TASKS_NAMED)
        return;
    struct task_row *row = &rows->rows[rows->n];
    *row = (struct task_row){.value = value, .core = core};
    if (!read_row(row, tasks, ledger, row->name, deadline))
        return;
    memcpy(row->was, row->name, sizeof row->was);
    rows->n++;
}

enum { ROW_WORDS = TASK_NAME / WORD + 2 };

/* Bytes that show whether it has the same name: with the end of the text, where there is room for it. */
static uint64_t row_bytes(const struct task_row *row, const struct tasks *tasks)
{
    uint64_t n = strlen(row->name) + 1, most = TASK_NAME - 1;
    most = !tasks->name.is_pointer && tasks->name.size < most ? tasks->name.size : most;
    return n < most ? n : most;
}

/* A pointer to the text, and its words. */
static void add_row(const struct task_row *row, const struct tasks *tasks, struct steps *list)
{
    if (tasks->name.is_pointer)
        steps_add(list, step_read(core_word(row->core, row->value + tasks->name.offset)));
    for (uint64_t at = row->text & ~UINT64_C(3); at < row->text + row_bytes(row, tasks); at += WORD)
        steps_add(list, step_read(core_word(row->core, at)));
}

/* Returns how many words are its own. */
static size_t check_row(const struct task_row *row, const struct tasks *tasks, const uint64_t *words,
                        bool *same)
{
    size_t n = 0;
    uint64_t first = row->text & ~UINT64_C(3), bytes = row_bytes(row, tasks);
    if (tasks->name.is_pointer)
        *same = words[n++] == row->text && *same;
    for (uint64_t i = 0; i < bytes; i++) {
        uint64_t far = row->text + i - first;
        *same = (char)(words[n + far / WORD] >> 8 * (far % WORD)) == row->name[i] && *same;
    }
    return n + (size_t)((row->text + bytes - first + WORD - 1) / WORD);
}

/* One list shows that no name has changed, as most often. */
static bool all_are_same(const struct task_rows *rows, const struct tasks *tasks, struct ledger *ledger,
                         const struct deadline *deadline)
{
    struct step items[TASKS_NAMED * ROW_WORDS];
    uint64_t words[TASKS_NAMED * ROW_WORDS];
    struct steps list = {.items = items, .room = sizeof items / sizeof *items};
    struct error unread = {0};
    bool same = tasks->sleeps == NULL; /* else each is read awake */
    for (size_t i = 0; i < rows->n && same; i++)
        if (rows->rows[i].text != 0)
            add_row(&rows->rows[i], tasks, &list);
    if (list.n > 0 && !ledger_run(ledger, &list, words, deadline, &unread))
        return false;
    for (size_t i = 0, at = 0; i < rows->n && list.n > 0; i++)
        if (rows->rows[i].text != 0)
            at += check_row(&rows->rows[i], tasks, words + at, &same);
    return same;
}

/* NULL: it is the same. */
static void note_name(struct task_row *row, const char *name)
{
    memcpy(row->was, row->name, sizeof row->was);
    if (name != NULL)
        snprintf(row->name, sizeof row->name, "%s", name);
}

bool task_rows_look(struct task_rows *rows, struct tasks *tasks, struct ledger *ledger,
                    const struct deadline *deadline)
{
    char names[TASKS_NAMED][TASK_NAME];
    if (!tasks->has_names)
        return rows->n == 0;
    bool same = all_are_same(rows, tasks, ledger, deadline);
    for (size_t i = 0; i < rows->n && !same; i++)
        if (!read_row(&rows->rows[i], tasks, ledger, names[i], deadline))
            return false;
    for (size_t i = 0; i < rows->n; i++)
        note_name(&rows->rows[i], same ? NULL : names[i]);
    return true;
}

void task_rows_lose(struct task_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        note_name(&rows->rows[i], rows->rows[i].name[0] != '\0' ? "not known" : NULL);
}

const char *task_row_tell(struct task_row *row)
{
    char text[TASK_TEXT];
    const char *was = row->was[0] != '\0' ? row->was : no_task, *name = row->name;
    name = name[0] == '\0' && row->told[0] != '\0' ? no_task : name;
    if (strcmp(row->was, row->name) == 0)
        snprintf(text, sizeof text, "%s", name);
    else
        snprintf(text, sizeof text, "%s, later %s", was, name[0] != '\0' ? name : no_task);
    if (row->texts == TASK_TEXTS || strcmp(text, row->told) == 0)
        return NULL;
    if (++row->texts == TASK_TEXTS)
        snprintf(text, sizeof text, "%s and others", name);
    memcpy(row->told, text, sizeof row->told);
    return row->told;
}
