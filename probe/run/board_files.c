#include "run/board_files.h"

#include "symbols/names.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char ending[] = ".cfg", of_tests[] = "virtual";

/* The folder above the one that this program is in; false: not known. */
static bool find_self(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < 2; i++) { /* the program's own name, and its folder's */
        char *slash = strrchr(out, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    return true;
}

void board_files_find(struct board_files *self)
{
    static const char *const homes[] = {"/share/pmu-probe", ""};
    static const char *const parts[BOARD_FOLDERS] = {"/openocd-cfg/boards", "/openocd-cfg", ""};
    char above[PATH_MAX];
    memset(self, 0, sizeof *self);
    bool known = find_self(above);
    for (size_t k = 0; known && self->folders[0][0] == '\0' && k < sizeof homes / sizeof *homes; k++)
        for (size_t i = 0; i < BOARD_FOLDERS && (i == 0 || self->folders[0][0] != '\0'); i++) {
            int used = snprintf(self->folders[i], BOARD_PATH, "%s%s%s", above, homes[k], parts[i]);
            if (used < 0 || used >= BOARD_PATH || access(self->folders[i], R_OK) != 0)
                self->folders[i][0] = '\0';
        }
}

/* The name of a board's file that was named without its ending; NULL: it is not a board's, or a file here. */
static const char *board_files_name_of(const struct board_files *self, const char *name, char out[BOARD_NAME])
{
    char path[BOARD_PATH + BOARD_NAME];
    if (self->folders[0][0] == '\0' || strpbrk(name, "/.") != NULL || access(name, R_OK) == 0 ||
        strlen(name) + sizeof ending > BOARD_NAME)
        return NULL;
    snprintf(out, BOARD_NAME, "%s%s", name, ending);
    snprintf(path, sizeof path, "%s/%s", self->folders[0], out);
    return access(path, R_OK) == 0 ? out : NULL;
}

/* The i-th of OpenOCD's words is what follows -f. */
static bool is_file(const struct request *request, size_t i)
{
    return i % 2 == 1 && strcmp(request->openocd[i - 1], "-f") == 0;
}

size_t board_files_words(struct board_files *self, const struct request *request,
                         const char *words[BOARD_WORDS])
{
    size_t n = request->n_openocd;
    for (size_t i = 0; i < n; i++) {
        const char *word = request->openocd[i];
        const char *name = is_file(request, i) ? board_files_name_of(self, word, self->names[i]) : NULL;
        words[i] = name != NULL ? name : word;
    }
    for (size_t i = 0; i < BOARD_FOLDERS; i++)
        if (self->folders[i][0] != '\0') {
            words[n++] = "-s";
            words[n++] = self->folders[i];
        }
    return n;
}

void board_files_each(const struct board_files *self, void (*take)(void *context, const char *name),
                      void *context)
{
    char name[BOARD_PATH + BOARD_NAME];
    glob_t paths = {0};
    snprintf(name, sizeof name, "%s/*%s", self->folders[0], ending);
    if (self->folders[0][0] != '\0' && glob(name, 0, NULL, &paths) == 0)
        for (size_t i = 0; i < paths.gl_pathc; i++) {
            const char *file = name_of_file(paths.gl_pathv[i]);
            size_t length = strlen(file) - (sizeof ending - 1);
            snprintf(name, sizeof name, "%.*s", (int)length, file);
            if (strncmp(name, of_tests, sizeof of_tests - 1) != 0)
                take(context, name);
        }
    globfree(&paths);
}

struct advice {
    struct near near;
    char list[512];
};

static void board_files_offer(void *context, const char *name)
{
    struct advice *advice = context;
    size_t used = strlen(advice->list);
    near_offer(&advice->near, name);
    snprintf(advice->list + used, sizeof advice->list - used, "%s%s", used > 0 ? ", " : "", name);
}

bool board_files_advise(const struct board_files *self, const struct request *request, struct error *error)
{
    for (size_t i = 0; i < request->n_openocd; i++) {
        const char *name = request->openocd[i];
        char missing[128], room[NEAR_TEXT];
        struct advice advice = {.list = ""};
        snprintf(missing, sizeof missing, "Can't find %s", name);
        if (!is_file(request, i) || strchr(name, '/') != NULL || strstr(error->text, missing) == NULL)
            continue;
        near_init(&advice.near, name, strcspn(name, "."));
        board_files_each(self, board_files_offer, &advice);
        if (advice.list[0] == '\0')
            return false;
        error_clear(error);
        return error_advise(error, ERROR_SERVER, "",
                            "neither OpenOCD nor pmu-probe has a file %.64s%s\nBoards, for -f: %s", name,
                            near_text(&advice.near, room, sizeof room), advice.list);
    }
    return false;
}
