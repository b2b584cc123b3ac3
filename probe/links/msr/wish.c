#include "links/msr/list.h"
#include "links/msr/msr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char files_word[] = "msr", agent_word[] = "msr-agent";
enum { MOST_CPU = 4095 };

/* What follows the word; NULL: it is another one. */
static const char *after(const char *probe, const char *word, const char *next)
{
    size_t length = strlen(word);
    if (strncmp(probe, word, length) != 0 || (probe[length] != '\0' && strchr(next, probe[length]) == NULL))
        return NULL;
    return probe + length;
}

bool msr_wish_is(const char *probe)
{
    return after(probe, files_word, ":@") != NULL || after(probe, agent_word, ":") != NULL;
}

static bool read_number(const char *text, const char *end, unsigned long most, unsigned long *out)
{
    char *stop;
    errno = 0;
    *out = strtoul(text, &stop, 10);
    return *text >= '0' && *text <= '9' && stop == end && errno == 0 && *out <= most;
}

static struct link *connect_files(const char *rest, struct error *error)
{
    unsigned long cpu = 0;
    const char *at = strchr(rest, '@');
    const char *end = at != NULL ? at : rest + strlen(rest);
    bool one = *rest == ':' && rest + 1 != end;
    if (one && !read_number(rest + 1, end, MOST_CPU, &cpu)) {
        error_set(error, ERROR_USAGE, "--probe msr:%.64s: expected a CPU's number after the colon", rest + 1);
        return NULL;
    }
    if (at != NULL && strlen(at + 1) >= 256) {
        error_set(error, ERROR_USAGE, "--probe: the folder's name is too long");
        return NULL;
    }
    return msr_files_open(at != NULL ? at + 1 : "", one ? (int)cpu : -1, error);
}

/* ":HOST", ":HOST:PORT", ":[::1]:PORT" */
static struct link *connect_agent(const char *rest, const struct deadline *deadline, struct error *error)
{
    char host[256] = "localhost";
    unsigned long port = MSR_AGENT_PORT;
    const char *begin = *rest == ':' ? rest + 1 : rest;
    bool bracket = *begin == '[';
    const char *end = bracket ? strchr(begin, ']') : strchr(begin, ':');
    if (end == NULL)
        end = begin + strlen(begin);
    size_t length = (size_t)(end - begin) - bracket;
    const char *behind = bracket && *end == ']' ? end + 1 : end;
    bool readable = length < sizeof host && (*behind == ':' || *behind == '\0') && (!bracket || *end == ']');
    if (readable && *behind == ':')
        readable = read_number(behind + 1, behind + strlen(behind), UINT16_MAX, &port) && port > 0;
    if (!readable) {
        error_set(error, ERROR_USAGE,
                  "--probe msr-agent%.64s: expected msr-agent:HOST[:PORT], an IPv6 address in "
                  "brackets",
                  rest);
        return NULL;
    }
    if (length > 0)
        snprintf(host, sizeof host, "%.*s", (int)length, begin + bracket);
    return msr_agent_open(host, (uint16_t)port, deadline, error);
}

struct link *msr_connect(const char *probe, const struct deadline *deadline, struct error *error)
{
    const char *rest = after(probe, agent_word, ":");
    if (rest != NULL)
        return connect_agent(rest, deadline, error);
    rest = after(probe, files_word, ":@");
    return rest != NULL ? connect_files(rest, error) : NULL;
}
