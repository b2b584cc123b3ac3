#include "counters/knc_modifiers.h"

#include "counters/knc.h"

#include <string.h>

static const struct word {
    const char *name;
    uint32_t bit;
} words[] = {
    {"u", KNC_USER},  {"k", KNC_KERNEL},   {"edge", KNC_EDGE},
    {"any", KNC_ANY}, {"inv", KNC_INVERT}, {"spflt", KNC_SPFLT},
};
static const char CMASK[] = "cmask=";
enum { MOST_CMASK = 255, CMASK_LENGTH = sizeof CMASK - 1 };

/* 1 to 255 in decimal, 0 for anything else. */
static uint32_t read_cmask(const char *text, size_t n)
{
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || value > MOST_CMASK)
            return 0;
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    return value <= MOST_CMASK ? value : 0;
}

static bool read_word(const char *text, size_t n, uint32_t *code, struct error *error)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].name) == n && strncasecmp(words[i].name, text, n) == 0) {
            if ((*code & words[i].bit) != 0)
                return error_set(error, ERROR_USAGE, "-e: \":%s\" is given twice", words[i].name);
            *code |= words[i].bit;
            return true;
        }
    if (n < CMASK_LENGTH || strncasecmp(text, CMASK, CMASK_LENGTH) != 0)
        return error_set(
            error, ERROR_USAGE,
            "-e: \":%.*s\" says nothing to these counters: there are :u :k :edge :any :cmask=N :inv "
            ":spflt",
            (int)(n < 40 ? n : 40), text);
    uint32_t value = read_cmask(text + CMASK_LENGTH, n - CMASK_LENGTH);
    if (value == 0)
        return error_set(error, ERROR_USAGE, "-e: cmask= takes 1 to %d", MOST_CMASK);
    if (*code >> KNC_CMASK_SHIFT != 0)
        return error_set(error, ERROR_USAGE, "-e: \":cmask\" is given twice");
    *code |= value << KNC_CMASK_SHIFT;
    return true;
}

bool knc_modifiers_read(const char *text, uint32_t *code, struct error *error)
{
    uint32_t result = *code;
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ":");
        if (!read_word(at, n, &result, error))
            return false;
        at += n;
        if (*at == '\0')
            break;
    }
    if ((result & KNC_INVERT) != 0 && result >> KNC_CMASK_SHIFT == 0)
        return error_set(
            error, ERROR_USAGE,
            "-e: inv counts the cycles with less than cmask=N of an event, so it needs cmask=N beside it");
    *code = result;
    return true;
}
