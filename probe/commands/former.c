/* Words that were typed once, here or for perf and hyperfine, and what to use now. */
#include "commands/command.h"

#include <string.h>

static const struct {
    const char *word, *now;
} former_words[] = {
    {"release", "say restore --force"},
    {"history", "say compare OLD NEW [...]; docs/ci.md shows how to keep the course of many runs"},
    {"locate", "say delta: it shows what its locations mean, or lists candidates, before it measures"},
    {"diff", "say compare OLD NEW"},
    {"ls", "say list for events, probes for probes"},
    {"run", "load and start the program as you do now; then say delta FUNCTION, or record"},
    {"attach", "each command attaches by itself: say stat, record or delta FUNCTION"},
    {"profile", "say record, then report"},
    {"measure", "say delta FUNCTION"},
    {"--count", "say -r N, the number of hits; for record --every N, the events from stop to stop"},
    {"--hits", "say -r N, the number of hits"},
    {"--frequency", "say --freq HZ"},
    {"--on-max", "say --outliers N --show WORDS"},
    {"--boards", "start a process for each board, as docs/farm.md shows"},
    {"-n", "say -r N, the number of hits"},
    {"--runs", "say -r N, the number of hits"},
    {"--min-runs", "say --precision, or -r N, the number of hits"},
    {"--max-runs", "say -r N, the number of hits"},
    {"-m", "say --precision, or -r N, the number of hits"},
    {"--diff", "say compare OLD NEW, which takes profiles, too"},
    {"--any-elf", "leave it out: that the ELF file has another name is a note"},
    {"--format junit", "pytest or CTest write JUnit of each verdict, as docs/ci.md shows"},
    {"--format pprof", "say --format folded, or perf, which speedscope reads"},
    {"--format gcc", "say -j, whose lines have file and line; or --format csv"},
    {"-F", "record samples as fast as the probe can; --every N stops the core after N events"},
    {"--export-json", "say -j -o FILE"},
    {"--export-csv", "say --format csv -o FILE"},
    {"--export-markdown", "say --format markdown -o FILE"},
    {"--pid", "say --context ID"},
};

bool former_refuse(const char *word, size_t length, struct error *error)
{
    for (size_t i = 0; i < sizeof former_words / sizeof *former_words; i++)
        if (strlen(former_words[i].word) == length && memcmp(former_words[i].word, word, length) == 0) {
            error_set(error, ERROR_USAGE, "there is no %s: %s", former_words[i].word, former_words[i].now);
            return true;
        }
    return false;
}
