#include "commands/verdicts.h"

#include <ctype.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A bare 5 is refused: it would be 500 %, and the user means 5 %. */
bool verdicts_threshold(const struct options *options, double *out, struct error *error)
{
    const char *text = options->threshold;
    *out = 0;
    if (text == NULL)
        return true;
    if (verdict_threshold(text, out))
        return true;
    char *end;
    double bare = strtod(text, &end);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && bare >= 1 && bare <= 1e6)
        return error_set(error, ERROR_USAGE, "--threshold %.32s would be %g %%: write %g%% or %g", text,
                         bare * 100, bare, bare / 100);
    return error_set(error, ERROR_USAGE, "--threshold takes a part such as 2%% or 0.02, not \"%.32s\"", text);
}

/* By device and inode: names may be links. */
bool verdicts_are_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return one != NULL && other != NULL && stat(one, &a) == 0 && stat(other, &b) == 0 && S_ISREG(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool verdicts_check(const struct options *options, struct error *error)
{
    if (!verdicts_are_same_file(options->baseline, options->output))
        return true;
    return error_set(
        error, ERROR_USAGE,
        "--baseline and -o are the same file, %.256s: a slower run would take the place of what it "
        "is compared with",
        options->output);
}

int verdicts_exit_code(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_PASS:
        break;
    case VERDICT_REGRESSED:
        return EXIT_REGRESSED;
    case VERDICT_INCONCLUSIVE:
        return EXIT_INCONCLUSIVE;
    case VERDICT_NOT_COMPARABLE:
        return EXIT_NOT_COMPARABLE;
    }
    return EXIT_DONE;
}
