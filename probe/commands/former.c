/* SPDX-License-Identifier: MIT */
/* Words that were typed once, here or for perf and hyperfine, and what to use now. */
#include "commands/command.h"

#include <string.h>

static const struct {
    const char *words, *now; /* words have a | between them */
} former_words[] = {
    {"release", "restore --force"},
    {"history", "compare OLD NEW [...], as docs/ci.md shows"},
    {"locate", "delta, which shows its locations or their candidates first"},
    {"diff|--diff", "compare OLD NEW"},
    {"ls", "list for events, probes for probes"},
    {"run", "delta FUNCTION or record while the program runs"},
    {"attach", "stat, record or delta FUNCTION: each attaches by itself"},
    {"profile", "record, then report"},
    {"measure", "delta FUNCTION"},
    {"--count", "-r N for hits, or record --every N for events"},
    {"--hits|-n|--runs|--max-runs", "-r N, the number of hits"},
    {"--min-runs|-m", "--precision, or -r N for hits"},
    {"--frequency", "--freq HZ"},
    {"--on-max", "--outliers N --show WORDS"},
    {"--boards", "a process for each board, as docs/farm.md shows"},
    {"--any-elf", "no option: another file name is only a note"},
    {"--format junit", "pytest or CTest, as docs/ci.md shows"},
    {"--format pprof", "--format folded or perf"},
    {"--format gcc", "-j or --format csv"},
    {"-F", "record, which samples as fast as it can, or its --every N for events"},
    {"--export-json", "-j -o FILE"},
    {"--export-csv", "--format csv -o FILE"},
    {"--export-markdown", "--format markdown -o FILE"},
    {"--pid", "--context ID"},
};

static bool former_has(const char *words, const char *word, size_t length)
{
    for (size_t n; *words != '\0'; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        if (n == length && memcmp(words, word, n) == 0)
            return true;
    }
    return false;
}

bool former_refuse(const char *word, size_t length, struct error *error)
{
    for (size_t i = 0; i < sizeof former_words / sizeof *former_words; i++)
        if (former_has(former_words[i].words, word, length)) {
            error_advise(error, ERROR_USAGE, "", "there is no %.*s: use %s", (int)length, word,
                         former_words[i].now);
            return true;
        }
    return false;
}
