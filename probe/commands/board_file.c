#include "commands/board_file.h"

#include "commands/options.h"
#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>

static const struct option *find_option(const char *word)
{
    if (word[0] == '-' && word[1] == '-')
        return option_find(word + 2, strlen(word + 2));
    return word[0] == '-' && word[1] != '\0' && word[2] == '\0' ? option_find_letter(word[1]) : NULL;
}

/* Whether it is a board's own, and what it takes does no harm. */
static bool check_option(const struct word_file *file, const struct option *option, const char *typed,
                         const char *value)
{
    const char *why, *does = option_acts(option, value);
    if (does != NULL)
        return word_file_fails(file, "%s %s, and this file must not do that", typed, does);
    if (option_goes_with(option_find("boards", strlen("boards")), option, &why) ||
        strcmp(option->name, "probe") == 0 || strcmp(option->name, "elf") == 0)
        return word_file_fails(file, "%s is not an option of a board", typed);
    struct error wrong = {0};
    struct options *unused = calloc(1, sizeof *unused);
    if (unused == NULL)
        return error_set(file->error, ERROR_SYSTEM, "out of memory");
    bool ok = option_store(unused, option, typed, value, &wrong);
    free(unused);
    return ok || word_file_fails(file, "%s", wrong.text);
}

static bool take_option(const struct word_file *file, const struct words *words, size_t *i,
                        struct board_line *out)
{
    const char *typed = words->at[*i];
    const struct option *option = find_option(typed);
    bool flag = option != NULL && option->value == NULL;
    if (option == NULL)
        return word_file_fails(file, "\"%.64s\" is no option: behind the ELF file stand options", typed);
    if (!flag && *i + 1 == words->n)
        return word_file_fails(file, "%s needs %s after it", typed, option_words[option->kind].noun);
    if (!check_option(file, option, typed, flag ? "" : words->at[*i + 1]))
        return false;
    for (size_t k = 0; k < (flag ? 1 : 2); k++)
        memcpy(out->options[out->n_options++], words->at[(*i)++], WORD_FILE_WORD);
    return true;
}

static bool take_words(const struct word_file *file, const struct words *words, struct board_line *out)
{
    *out = (struct board_line){.line = file->line};
    if (words->n < 3)
        return word_file_fails(file, "a board is a name, what --probe takes, and an ELF file");
    if (!words_copy(file, out->name, sizeof out->name, words->at[0], "the name") ||
        !words_copy(file, out->probe, sizeof out->probe, words->at[1], "the probe") ||
        !words_copy(file, out->elf, sizeof out->elf, words->at[2], "the ELF file"))
        return false;
    const char *does = option_acts(option_find("probe", strlen("probe")), out->probe);
    if (does != NULL)
        return word_file_fails(file, "the probe \"%.64s\" %s, and this file must not do that", out->probe,
                               does);
    for (size_t i = 3; i < words->n;)
        if (!take_option(file, words, &i, out))
            return false;
    return true;
}

static bool take_line(void *context, const struct word_file *file, const struct words *words)
{
    struct board_file *out = context;
    if (out->n == BOARD_FILE_MOST)
        return word_file_fails(file, "more than %d boards; labgrid is for so many", BOARD_FILE_MOST);
    struct board_line *line = &out->lines[out->n];
    if (!take_words(file, words, line))
        return false;
    for (size_t i = 0; i < out->n; i++) {
        if (strcmp(out->lines[i].name, line->name) == 0)
            return word_file_fails(file, "line %u has the name \"%s\", too", out->lines[i].line, line->name);
        if (strcmp(out->lines[i].probe, line->probe) == 0)
            return word_file_fails(file, "line %u has the probe \"%.64s\", too: one survey at a time",
                                   out->lines[i].line, line->probe);
    }
    out->n++;
    return true;
}

bool board_file_parse(const char *text, size_t size, const char *path, struct board_file *out,
                      struct error *error)
{
    struct word_file file = {.name = out->file, .error = error};
    *out = (struct board_file){.lines = calloc(BOARD_FILE_MOST, sizeof *out->lines)};
    utf8_clean(out->file, sizeof out->file, path);
    if (out->lines == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    return word_file_parse(&file, text, size, take_line, out) &&
           (out->n > 0 || word_file_fails(&file, "it names no board"));
}

bool board_file_read(const char *path, const volatile sig_atomic_t *cancel, struct board_file *out,
                     struct error *error)
{
    size_t size;
    *out = (struct board_file){.n = 0};
    char *text = word_file_read(path, cancel, &size, error);
    bool ok = text != NULL && board_file_parse(text, size, path, out, error);
    free(text);
    return ok;
}

void board_file_free(struct board_file *file)
{
    free(file->lines);
    *file = (struct board_file){.n = 0};
}
