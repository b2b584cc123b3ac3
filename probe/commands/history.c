/* `history`: the results of many runs of delta, in order of their time. No target is touched. */
#include "report/history.h"
#include "commands/command.h"
#include "report/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 8 };
static const double CHANCE = 0.01; /* of a false change, over all rows */

struct history_command {
    const struct context *context;
    struct history history;
    struct baseline run; /* the file being read */
};

/* Files that the user names must be results; others in a folder need not. */
static bool history_add_file(struct history_command *self, const char *path, bool is_named,
                             struct error *error)
{
    struct error why = {0};
    struct history *history = &self->history;
    if (baseline_read(path, self->context->around.cancel, &self->run, &why)) {
        bool ok = history_add(history, &self->run);
        baseline_free(&self->run);
        return ok || error_set(error, ERROR_SYSTEM, "out of memory");
    }
    if (is_named || why.kind != ERROR_USAGE)
        return error_copy(error, &why);
    if (history->skipped++ == 0)
        error_on_one_line(&why, history->reason, sizeof history->reason);
    return true;
}

static bool is_result(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end != NULL && (strcmp(end, ".jsonl") == 0 || strcmp(end, ".json") == 0);
}

static bool add_folder(struct history_command *self, const char *path, unsigned depth, struct error *error);

static bool add_entry(struct history_command *self, const char *folder, const struct dirent *entry,
                      unsigned depth, struct error *error)
{
    char path[PATH_MAX];
    struct stat is;
    if (entry->d_name[0] == '.')
        return true;
    int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (length < 0 || (size_t)length >= sizeof path || lstat(path, &is) != 0)
        return true;
    bool is_link = S_ISLNK(is.st_mode);
    if (is_link && stat(path, &is) != 0)
        return true;
    if (S_ISDIR(is.st_mode) && is_link) /* it may lead back */
        return true;
    if (S_ISDIR(is.st_mode))
        return depth == DEEPEST || add_folder(self, path, depth + 1, error);
    return !S_ISREG(is.st_mode) || !is_result(entry) || history_add_file(self, path, false, error);
}

static bool add_folder(struct history_command *self, const char *path, unsigned depth, struct error *error)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort);
    char clean[UTF8_CLEAN_ROOM(256)];
    if (n < 0)
        return error_set(error, ERROR_USAGE, "%s: %s", utf8_clean(clean, sizeof clean, path),
                         strerror(errno));
    bool ok = true;
    for (int i = 0; i < n; i++) {
        ok = ok && *self->context->around.cancel == 0 && add_entry(self, path, entries[i], depth, error);
        free(entries[i]);
    }
    free(entries);
    if (!ok && error->kind == ERROR_NONE)
        error_set(error, ERROR_CANCELLED, "cancelled");
    return ok;
}

static bool add_operand(struct history_command *self, const char *path, struct error *error)
{
    struct stat is;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return add_folder(self, path, 0, error);
    return history_add_file(self, path, true, error);
}

static bool history_gather(struct history_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    struct history *history = &self->history;
    for (size_t i = 0; i < options->n_operands; i++)
        if (!add_operand(self, options->operands[i], error))
            return false;
    if (history->files == 0 && history->skipped > 0)
        return error_set(error, ERROR_USAGE, "no result of delta there: %s", history->reason);
    if (history->files == 0)
        return error_set(error, ERROR_USAGE,
                         "no result of delta there: it writes them with -j -o FILE.jsonl");
    return true;
}

static bool history_print(const struct history_command *self)
{
    const struct rendering to = command_rendering(self->context);
    struct document document = history_document(&self->history, CHANCE);
    bool ok = history_write(&to, &document, &self->context->options->typed);
    document_free(&document);
    return ok;
}

int command_history(const struct context *context, struct error *error)
{
    struct history_command *self = calloc(1, sizeof *self);
    if (self == NULL)
        return error_exit_code((error_set(error, ERROR_SYSTEM, "out of memory"), error->kind));
    self->context = context;
    bool ok = history_gather(self, error);
    if (ok) {
        command_has_result(context);
        ok = history_print(self) || error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    }
    history_free(&self->history);
    free(self);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
