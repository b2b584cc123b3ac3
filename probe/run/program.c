#include "run/program.h"

#include "run/elf_check.h"

#include <stdio.h>
#include <stdlib.h>

/* Of the files found, newest first: session->elf.found is the first that the target runs. Returns how many it
 * may run. */
static size_t choose_elf(struct session *session, const struct elf_files *files)
{
    size_t there = 0;
    struct symbols *chosen = NULL;
    for (size_t i = 0; i < files->n && *session->around->cancel == 0; i++) {
        struct error unread = {0};
        session->symbols = symbols_open_moved(files->files[i].path, session->request->load_offset, &unread);
        bool same = session->symbols != NULL && elf_check_is_there(session);
        if (same && there++ == 0) {
            chosen = session->symbols;
            snprintf(session->elf.found, sizeof session->elf.found, "%s", files->files[i].path);
        } else {
            symbols_close(session->symbols);
        }
    }
    session->symbols = session->device.symbols = chosen;
    return there;
}

static void tell_chosen(const struct session *session, size_t there)
{
    char others[64] = "";
    if (there > 1)
        snprintf(others, sizeof others, "; the newest, of %zu others it is, too", there - 1);
    request_note(session->request, "using %s (its code is on the target%s)", session->elf.found, others);
}

static bool refuse_without_elf(const struct session *session, const struct elf_files *files,
                               struct error *error)
{
    if (session->needs_elf)
        error_set(error, ERROR_ELF, "functions are found by name, and there is no ELF file to find them in");
    else
        error_set(error, ERROR_ELF, "`%.200s` is a name, and there is no ELF file to find it in",
                  session->needs_name);
    struct error looked = {0};
    if (files->n == 0)
        error_set(&looked, ERROR_ELF, "none is named, and none is in %s", elf_folders);
    else
        error_set(&looked, ERROR_ELF, "none is named, and the target has the code of none of %zu in %s",
                  files->n, elf_folders);
    return error_add(error, &looked);
}

static bool search_elf(struct session *session, struct error *error)
{
    struct elf_files *files = calloc(1, sizeof *files);
    if (files == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    elf_files_find(files);
    bool ok = files->n > 0 ? session_reach_target(session, error) : refuse_without_elf(session, files, error);
    size_t there = ok ? choose_elf(session, files) : 0;
    if (ok && there == 0)
        ok = refuse_without_elf(session, files, error);
    free(files);
    if (ok)
        tell_chosen(session, there);
    return ok;
}

bool program_open(struct session *session, struct error *error)
{
    const struct request *request = session->request;
    if (request->elf == NULL)
        return (!session->needs_elf && session->needs_name == NULL) || search_elf(session, error);
    session->symbols = symbols_open_moved(request->elf, request->load_offset, error);
    return session->symbols != NULL;
}

bool program_open_target(struct session *session, struct error *error)
{
    return session_reach_target(session, error) && elf_check(session, error);
}
