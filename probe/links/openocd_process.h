/*
 * An OpenOCD of ours: started without a shell, out of reach of the terminal's Ctrl-C (we need it to put
 * the target right), gone when we are gone, and with the end of its log kept for error texts.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct openocd_process;

/* Returns when it listens on its Tcl port. NULL on error, with its last words in the text. */
struct openocd_process *openocd_process_start(const char *const *options, size_t n, const struct log *log,
                                              const struct deadline *deadline, struct error *error);
/* If it was asked to end, lets it do so for a moment; then makes it end. NULL is allowed. */
void openocd_process_stop(struct openocd_process *process, bool was_asked);

uint16_t openocd_process_port(const struct openocd_process *process);
pid_t openocd_process_pid(const struct openocd_process *process);
int openocd_process_log_fd(const struct openocd_process *process); /* -1 when it has ended */
void openocd_process_read_log(struct openocd_process *process);
/* Why it ended, or is about to: its error lines, one a line; without any, the end of its log. */
void openocd_process_why(struct openocd_process *process, char *out, size_t size);
/* The end of its log on one line, as much as fits, to the very end if it is about to end. */
void openocd_process_last_words(struct openocd_process *process, char *out, size_t size);

/*
 * Steps as the numbers that pmu.tcl carries out. Pure. Reads at consecutive addresses become one item,
 * a block read; every other step is an item of its own.
 */
enum { OPENOCD_BLOCK = 8192 }; /* elements; OpenOCD itself would take 65536 */

/* How many of the steps from here on make one item: at least 1. */
size_t openocd_item_length(const struct step *steps, size_t n);
/* NULL, or why OpenOCD cannot be asked for this step. */
const char *openocd_step_refusal(const struct step *step, size_t targets);
/*
 * Writes items, separated by blanks, until one is refused or there is no room for the next. Returns how
 * many steps are covered.
 */
size_t openocd_program_write(const struct step *steps, size_t n, size_t targets, char *out, size_t size);
