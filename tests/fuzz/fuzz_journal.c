/*
 * Any bytes as a journal. What is refused is so with a fact; what is read keeps what the header promises:
 * whatever a file says, its registers, values and steps are ones that a ledger and a link may be given.
 */
#include "links/journal.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void look_at_address(const struct address *at)
{
    demand(at->size == 1 || at->size == 2 || at->size == 4 || at->size == 8);
    demand(at->space <= SPACE_CORE);
}

static void look_at_entry(const struct journal_entry *entry)
{
    look_at_address(&entry->at);
    demand((unsigned)entry->restore.how <= RESTORE_PAIR);
    if (entry->restore.how == RESTORE_PAIR)
        look_at_address(&entry->restore.clear);
    if (entry->status.size != 0)
        look_at_address(&entry->status);
    demand(entry->n_wrote <= JOURNAL_WROTE);
}

static void look_at(const struct journal_file *file)
{
    const struct journal_head *head = &file->head;
    demand(memchr(head->link, '\0', sizeof head->link) != NULL &&
           memchr(head->command, '\0', sizeof head->command) != NULL);
    demand(memchr(head->core, '\0', sizeof head->core) != NULL && head->started_s >= 0 && head->process >= 0);
    demand(head->n_words <= JOURNAL_WORDS);
    for (size_t i = 0; i < head->n_words; i++)
        demand(memchr(head->words[i], '\0', sizeof head->words[i]) != NULL);
    demand(file->n <= JOURNAL_ENTRIES && file->n_borrowed <= JOURNAL_BORROWED);
    for (size_t i = 0; i < file->n; i++) {
        look_at_entry(&file->entries[i]);
        for (size_t j = 0; j < i; j++)
            demand(file->entries[j].id != file->entries[i].id);
    }
    for (size_t i = 0; i < file->n_borrowed; i++)
        look_at_address(&file->borrowed[i].at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct journal_file file;
    struct error error = {0};
    /* Exactly as long as it is, so that reading past the end is noticed */
    char *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    bool ok = journal_parse(bytes, size, &file, &error);
    free(bytes);
    demand(ok == (error.kind == ERROR_NONE));
    if (ok) {
        look_at(&file);
        journal_file_free(&file);
    }
    return 0;
}
