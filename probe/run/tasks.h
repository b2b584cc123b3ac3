/* SPDX-License-Identifier: MIT */
/*
 * Tasks: where an RTOS keeps the task that runs, and what it calls it. FreeRTOS, ThreadX and Zephyr are known
 * by the names of their variables and structures in the ELF file.
 */
#pragma once

#include "base/deadline.h"
#include "cores/core.h"
#include "device/device.h"
#include "links/ledger.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TASKS_NAMED = 64, TASK_NAME = 32 };

struct tasks {
    bool takes_parts;     /* to be set: the variable may have 1 or 2 bytes */
    const char *variable; /* that holds the task; NULL: none */
    unsigned size;        /* bytes of it that are read */
    bool has_names;
    struct device *sleeps; /* in whose sleep memory is hidden: names are read awake; NULL: none */
    struct symbols_member name;
    uint64_t asked[TASKS_NAMED];
    size_t n;
};

/* The word that shows which task of this core runs; *address is 0 if there is none. `wanted` is what the user
 * says, "variable" or "*0x20000100"; if it is NULL, the program's RTOS is searched for. ERROR_SYMBOL: the
 * program lacks this variable. `symbols` may be NULL. */
bool tasks_find(struct tasks *tasks, struct symbols *symbols, const char *wanted, unsigned core,
                uint64_t *address, struct error *error);
/* Whether the program's scheduler, if it is a known one, moves tasks from core to core. `symbols` may be
 * NULL. */
bool tasks_change_cores(struct symbols *symbols);
/* Whether the program, as far as its names say, starts another core. `symbols` may be NULL. */
bool tasks_start_cores(struct symbols *symbols);
/* Reads what the RTOS calls a task, at the first call for it. False: it has no name, or was asked for before,
 * or TASKS_NAMED others were. */
bool tasks_name(struct tasks *tasks, struct ledger *ledger, const struct core *core, uint64_t task,
                char name[TASK_NAME], const struct deadline *deadline);
/* Reads it again; "" if it is not a text any more. False: it cannot be read. */
bool tasks_name_again(struct tasks *tasks, struct ledger *ledger, const struct core *core, uint64_t task,
                      char name[TASK_NAME], const struct deadline *deadline);

/*
 * The names of tasks while a run goes on: a task may end, and another one begin in its memory. TASKS_NAMED
 * values have names.
 */
enum { TASK_TEXT = 2 * TASK_NAME + 16, TASK_TEXTS = 16 };

struct task_row {
    uint64_t value;
    const struct core *core;              /* that sees it */
    uint64_t text;                        /* where its name is; 0: not known */
    char was[TASK_NAME], name[TASK_NAME]; /* at the last reading but one, and at the last; "": it had none */
    char told[TASK_TEXT];                 /* the last text of task_row_tell */
    unsigned texts;                       /* how often that has changed */
};

struct task_rows {
    struct task_row rows[TASKS_NAMED];
    size_t n;
};

/* Reads the name of a task that is seen for the first time. */
void task_rows_meet(struct task_rows *rows, struct tasks *tasks, struct ledger *ledger,
                    const struct core *core, uint64_t value, const struct deadline *deadline);
/* Reads the names of all again. False: this is not possible now, and nothing has changed. */
bool task_rows_look(struct task_rows *rows, struct tasks *tasks, struct ledger *ledger,
                    const struct deadline *deadline);
/* After the last reading: which names held up to now is not known. */
void task_rows_lose(struct task_rows *rows);
/* What to call the task between the last two readings: "a", "a, later b". The same if it is NULL. */
const char *task_row_tell(struct task_row *row);
