/*
 * Random lists of steps through the tool's own link to a virtual board's probe, while single transfers go
 * wrong:
 *
 *     random-lists DAP-PORT CONTROL-PORT swd|jtag ADDRESS LISTS SEED
 *
 * All of ADDRESS to ADDRESS + 2 KB is compared with what the lists should have made of it, by way of the
 * board's control socket. Prints one line of JSON: how the lists ended. Exit code 1: one was reported as what
 * it was not.
 */
#include "links/dap/dap.h"
#include "links/link.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 2048, WORDS = BYTES / 4, STEPS = 40, TRIES = 40, TROUBLES = 8, ENDS = LINK_LOST + 1 };

struct run {
    struct link *link;
    FILE *board;
    bool jtag, exact;
    uint32_t place;
    uint64_t random;
    uint32_t shadow[WORDS];
    struct step steps[STEPS];
    uint64_t wanted[STEPS];
    size_t n, ends; /* the step at which the list ends by itself, or n */
    unsigned long told[ENDS], troubled;
};

static uint32_t below(struct run *r, uint32_t n)
{
    r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n > 0 ? (uint32_t)(r->random >> 33) % n : 0;
}

/* ---- the board */

static bool ask(struct run *r, char *reply, size_t size, const char *command)
{
    return fprintf(r->board, "%s\n", command) > 0 && fflush(r->board) == 0 &&
           fgets(reply, (int)size, r->board) != NULL && strstr(reply, "\"error\"") == NULL;
}

static bool read_board(struct run *r, uint32_t *words)
{
    static char reply[4 * BYTES];
    char command[64];
    snprintf(command, sizeof command, "read %" PRIx32 " %d", r->place, BYTES);
    if (!ask(r, reply, sizeof reply, command))
        return false;
    const char *hex = strstr(reply, ":\"");
    if (hex == NULL || strlen(hex) < 2 + 2 * BYTES)
        return false;
    for (size_t i = 0; i < BYTES; i++) {
        const char digits[] = {hex[2 + 2 * i], hex[3 + 2 * i], 0};
        words[i / 4] = (i % 4 == 0 ? 0 : words[i / 4]) | (uint32_t)strtoul(digits, NULL, 16) << 8 * (i % 4);
    }
    return true;
}

/* NULL: none. JTAG has no acknowledge that can be lost, and no parity. */
static const char *make_trouble(struct run *r)
{
    static const char *const kinds[TROUBLES] = {"wait", "fault", "none", "parity",
                                                "ack0", "ack3",  "ack5", "ack6"};
    static char command[64], reply[256];
    if (below(r, 3) != 0)
        return NULL;
    const char *kind = kinds[below(r, r->jtag ? 2 : TROUBLES)];
    unsigned count = strcmp(kind, "wait") == 0 && below(r, 2) == 0 ? 100000 : 1;
    snprintf(command, sizeof command, "fault %s %u %u", kind, count, below(r, 2 * (uint32_t)r->n));
    return ask(r, reply, sizeof reply, command) ? kind : NULL;
}

static bool end_trouble(struct run *r)
{
    char reply[256];
    return ask(r, reply, sizeof reply, "fault none 0") && ask(r, reply, sizeof reply, "fault wait 0");
}

/* ---- lists */

static uint32_t lanes(const struct address *at)
{
    return at->size == 4 ? UINT32_MAX : ((1U << 8 * at->size) - 1) << at->offset % 4 * 8;
}

static void write_shadow(const struct run *r, uint32_t *words, const struct step *step)
{
    size_t at = (step->at.offset - r->place) / 4;
    unsigned lane = step->at.offset % 4 * 8;
    words[at] = (words[at] & ~lanes(&step->at)) | ((uint32_t)step->value << lane & lanes(&step->at));
}

/* Few places, so that windows, rows and returns are frequent; on both sides of a border of 1 KB. */
static struct address some_place(struct run *r)
{
    static const uint32_t near[] = {0, 4, 8, 12, 64, 68, 1016, 1020, 1024, 1028};
    return (struct address){
        .space = SPACE_MEMORY, .size = 4, .offset = r->place + near[below(r, sizeof near / sizeof *near)]};
}

static void make_list(struct run *r)
{
    static uint32_t words[WORDS];
    memcpy(words, r->shadow, sizeof words);
    r->n = 3 + below(r, STEPS - 8);
    r->ends = r->n;
    for (size_t i = 0; i < r->n; i++) {
        struct step *step = &r->steps[i];
        struct address at = some_place(r);
        uint32_t kind = below(r, 12), mask = below(r, 2) ? UINT32_MAX : 0xFFFFU << below(r, 16);
        if (below(r, 8) == 0) {
            at.size = below(r, 2) ? 1 : 2;
            at.offset += at.size == 1 ? below(r, 4) : 2 * below(r, 2);
            mask = UINT32_MAX >> (32 - 8 * at.size);
        }
        uint32_t holds =
            (words[(at.offset - r->place) / 4] & lanes(&at)) >> (at.size == 4 ? 0 : at.offset % 4 * 8);
        r->wanted[i] = holds;
        if (kind < 4) {
            *step = step_read(at);
        } else if (kind < 7) {
            *step = step_write(at, below(r, 1U << 30) & UINT32_MAX >> (32 - 8 * at.size));
            write_shadow(r, words, step);
        } else if (kind < 9) {
            *step = step_until(at, mask, holds & mask);
        } else if (kind < 11) {
            bool wrong = below(r, 40) == 0;
            *step = step_expect(at, mask, (holds ^ (wrong ? mask & -mask : 0)) & mask);
            if (wrong && r->ends == r->n)
                r->ends = i;
        } else {
            *step = step_time(below(r, 2) ? TIME_BEFORE : TIME_AFTER);
        }
    }
}

/* ---- what became of one */

static bool complain(const struct run *r, unsigned long list, const char *trouble, struct outcome outcome,
                     const char *what, const struct error *error)
{
    fprintf(stderr, "list %lu (%s): why %d at %zu of %zu: %s; %s\n", list,
            trouble != NULL ? trouble : "no trouble", outcome.why, outcome.done, r->n, what, error->text);
    return false;
}

/* The memory after that many steps. */
static void memory_after(const struct run *r, size_t done, uint32_t *words)
{
    memcpy(words, r->shadow, sizeof r->shadow);
    for (size_t i = 0; i < done && i < r->n; i++)
        if (r->steps[i].op == OP_WRITE)
            write_shadow(r, words, &r->steps[i]);
}

static bool results_are_right(const struct run *r, const uint64_t *results, size_t done)
{
    for (size_t i = 0; i < done; i++) {
        uint64_t mask = r->steps[i].op == OP_READ ? UINT64_MAX : r->steps[i].mask;
        if (r->steps[i].op == OP_TIME || r->steps[i].op == OP_WRITE)
            continue;
        if ((results[i] & mask) != (r->wanted[i] & mask))
            return false;
    }
    return true;
}

/* The probe reads once more than a match needs. If that fails, the next access reports it. */
static void clear_the_air(struct run *r)
{
    struct address at = {.space = SPACE_MEMORY, .size = 4, .offset = r->place};
    struct step step = step_read(at);
    struct deadline deadline = deadline_in_ms(60000, NULL);
    struct error error = {0};
    uint64_t result;
    (void)link_execute(r->link, &step, 1, &result, &deadline, &error);
}

static bool one_list(struct run *r, unsigned long list)
{
    static uint32_t now[WORDS], could[WORDS];
    uint64_t results[STEPS] = {0};
    struct outcome outcome = {.why = NOT_YET};
    struct error error = {0};
    size_t done = 0;
    make_list(r);
    const char *trouble = make_trouble(r);
    r->troubled += trouble != NULL;
    for (int i = 0; i < TRIES && done < r->n && (outcome.why == NOT_YET || outcome.why == TARGET_WAIT); i++) {
        struct deadline deadline = deadline_in_ms(60000, NULL);
        error_clear(&error);
        outcome = link_execute(r->link, r->steps + done, r->n - done, results + done, &deadline, &error);
        done += outcome.done;
        if (outcome.why == TARGET_WAIT && !end_trouble(r))
            return complain(r, list, trouble, outcome, "the board does not answer", &error);
    }
    outcome.done = done;
    if (!end_trouble(r) || !read_board(r, now))
        return complain(r, list, trouble, outcome, "the board does not answer", &error);
    r->told[outcome.why]++;
    if (trouble != NULL && strcmp(trouble, "fault") == 0)
        clear_the_air(r);
    if (outcome.why != DONE && outcome.why != UNEXPECTED && trouble == NULL)
        return complain(r, list, trouble, outcome, "nothing was wrong", &error);
    if ((outcome.why == DONE && r->ends != r->n) || (outcome.why == DONE && done != r->n) ||
        (outcome.why == UNEXPECTED && done != r->ends) || done > r->ends)
        return complain(r, list, trouble, outcome, "it ends elsewhere", &error);
    bool known = outcome.why == DONE || outcome.why == UNEXPECTED;
    size_t surely = done;
    while (!known && !r->exact && surely > 0 && (surely == done || r->steps[surely].op == OP_TIME))
        surely--; /* it may be the access in front of it */
    if (!results_are_right(r, results, surely))
        return complain(r, list, trouble, outcome, "a result is wrong", &error);
    size_t most = known ? done : done + 1;
    for (size_t after = surely; after <= most; after++) {
        memory_after(r, after, could);
        if (memcmp(could, now, sizeof now) == 0) {
            memcpy(r->shadow, now, sizeof now);
            return true;
        }
    }
    return complain(r, list, trouble, outcome, "the memory is wrong", &error);
}

/* ---- the whole */

static bool connect_board(struct run *r, const char *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        return false;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    r->board = fdopen(fd, "r+");
    return r->board != NULL && read_board(r, r->shadow);
}

int main(int argc, char **argv)
{
    static struct run r;
    struct error error = {0};
    if (argc != 7)
        return 2;
    struct probe_spec spec = {
        .kind = DAP_TCP, .host = "127.0.0.1", .port = (uint16_t)strtoul(argv[1], NULL, 10)};
    r.jtag = strcmp(argv[3], "jtag") == 0;
    spec.wires = r.jtag ? DAP_WIRES_JTAG : DAP_WIRES_SWD;
    r.place = (uint32_t)strtoul(argv[4], NULL, 16);
    r.random = strtoull(argv[6], NULL, 10);
    unsigned long lists = strtoul(argv[5], NULL, 10), n = 0;
    struct deadline deadline = deadline_in_ms(60000, NULL);
    r.link = dap_open(&spec, &deadline, &error);
    if (r.link == NULL || !connect_board(&r, argv[2])) {
        fprintf(stderr, "cannot connect: %s\n", error.text);
        return 2;
    }
    r.exact = link_faults_are_exact(r.link);
    bool right = true;
    while (right && n < lists)
        right = one_list(&r, n++);
    printf("{\"lists\":%lu,\"right\":%s,\"troubled\":%lu,\"done\":%lu,\"unexpected\":%lu,\"wait\":%lu,"
           "\"fault\":%lu,\"lost\":%lu}\n",
           n, right ? "true" : "false", r.troubled, r.told[DONE], r.told[UNEXPECTED], r.told[TARGET_WAIT],
           r.told[TARGET_FAULT], r.told[LINK_LOST]);
    link_close(r.link);
    fclose(r.board);
    return right ? 0 : 1;
}
