/* SPDX-License-Identifier: MIT */
#include "run/region.h"

#include "base/values.h"
#include "run/session.h"
#include "run/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_return(void *symbols, uint64_t address)
{
    return symbols_is_return(symbols, address);
}

static enum entered entered_by(void *symbols, uint64_t function, uint64_t back)
{
    static const enum entered ways[] = {[ENTRY_CALLED] = ENTERED_BY_CALL,
                                        [ENTRY_RETURNS] = ENTERED_ANYHOW,
                                        [ENTRY_OPEN] = ENTERED_PERHAPS,
                                        [ENTRY_JUMPED] = ENTERED_BY_JUMP,
                                        [ENTRY_TAKES] = ENTERED_IN_MIDDLE};
    return ways[symbols_entry(symbols, function, back)];
}

static enum core_register register_of(const struct frame_base *base)
{
    return base->is_sp ? CORE_SP : (enum core_register)(CORE_R0 + base->number);
}

void region_of_function(struct named_region *out, const struct process *process)
{
    out->region = (struct region){
        .start = out->start.address, .low = out->start.low, .high = out->start.high, .to_return = true};
    out->region.start_is_thumb = out->start.isa == ISA_THUMB;
    out->region.process = *process;
}

void region_describe(const struct named_region *named, struct conditions *out)
{
    bool to_return = named->region.to_return;
    snprintf(out->start, sizeof out->start, "%s", named->start.name);
    snprintf(out->start_source, sizeof out->start_source, "%s", named->start.source);
    snprintf(out->start_file, sizeof out->start_file, "%s", named->file);
    out->start_address = named->region.start;
    snprintf(out->end, sizeof out->end, "%s", to_return ? "its return" : named->end.name);
    if (to_return)
        return;
    snprintf(out->end_source, sizeof out->end_source, "%s", named->end.source);
    out->end_address = named->region.end;
}

bool region_refuse_entry(const char *text, struct error *error)
{
    return error_advise(error, ERROR_USAGE, engine_name_end, "%.128s is not the entry of a function", text);
}

/* By a line a place is in each build, and its name is what was typed; by its function and an offset, in one.
 */
static bool region_find_end(struct symbols *symbols, const char *text, struct location *out,
                            struct error *error)
{
    if (!symbols_locate(symbols, text, out, error))
        return false;
    if (strcmp(name_of_file(text), out->source) == 0 && strlen(text) < sizeof out->name)
        snprintf(out->name, sizeof out->name, "%s", text);
    return true;
}

bool region_locate(struct named_region *out, struct symbols *symbols, const char *start, const char *end,
                   const struct process *process, struct error *error)
{
    if (end == NULL ? !symbols_locate(symbols, start, &out->start, error)
                    : !region_find_end(symbols, start, &out->start, error) ||
                          !region_find_end(symbols, end, &out->end, error))
        return false;
    region_of_function(out, process);
    if (end == NULL)
        return out->start.is_function_entry || region_refuse_entry(start, error);
    out->region.to_return = false;
    out->region.end = out->end.address;
    out->region.end_is_thumb = out->end.isa == ISA_THUMB;
    return true;
}

struct extent region_code(const struct named_region *named)
{
    if (named->region.to_return)
        return (struct extent){.low = named->start.address};
    return named->code;
}

/* A breakpoint instruction would change what the program computes with. */
static bool refuse_data_place(struct symbols *symbols, const struct location *at, struct error *error)
{
    char object[160];
    bool is_object = symbols_describe_object(symbols, at->address, object, sizeof object);
    return error_advise(error, ERROR_USAGE, "Name an instruction's address.",
                        "%.200s is data (%s%.150s), where no instruction begins", at->name,
                        is_object ? "in the object " : "a constant", is_object ? object : " among the code");
}

/* `what`: of the place, with a verb. A stop there makes each retry of the program a hit. */
static bool refuse_held(const char *name, const char *what, const struct held *held, struct error *error)
{
    char load[48] = "", store[96] = "";
    if (held->load != 0)
        snprintf(load, sizeof load, " at 0x%08" PRIx64, held->load);
    if (held->store != 0)
        snprintf(store, sizeof store, " at 0x%08" PRIx64 ", which *0x%" PRIx64 " follows", held->store,
                 held->after);
    return error_advise(error, ERROR_USAGE,
                        "Name a place before the load-exclusive, and what follows the store-exclusive.",
                        "%.200s %s between the load-exclusive%s and its store-exclusive%s: after a stop "
                        "there the store may fail, on each try",
                        name, what, load, store);
}

bool region_check_place(struct symbols *symbols, const struct location *at, struct error *error)
{
    uint64_t it, begins;
    struct held held;
    struct location before;
    char sections[160];
    if (symbols_overlay(symbols, at->address, sections, sizeof sections))
        return error_advise(error, ERROR_USAGE, "A region around a call of it can be measured.",
                            "%.200s is in an overlay: the sections %s all have code at 0x%08" PRIx64
                            ", one at a time",
                            at->name, sections, at->address);
    switch (symbols_code_place(symbols, at->address, &begins)) {
    case PLACE_DATA:
        return refuse_data_place(symbols, at, error);
    case PLACE_INSIDE:
        symbols_describe(symbols, begins, &before);
        return error_advise(error, ERROR_USAGE, "Name an instruction's address.",
                            "%.200s is in the middle of the instruction at %.200s, *0x%08" PRIx64, at->name,
                            before.name, begins);
    default:
        break;
    }
    if (symbols_held(symbols, at->address, &held))
        return refuse_held(at->name, "is", &held, error);
    if (!symbols_it_of(symbols, at->address, &it))
        return true;
    symbols_describe(symbols, it, &before);
    return error_advise(error, ERROR_USAGE, "Name the IT instruction, or the line after its block.",
                        "%.200s is conditional on the IT at %.200s, *0x%08" PRIx64
                        ": some cores do not stop there",
                        at->name, before.name, it);
}

static bool region_is_held(void *symbols, uint64_t address)
{
    struct held held;
    return symbols_held_after(symbols, address, &held);
}

static void region_find_exits(void *symbols, uint64_t function, struct exit_places *out)
{
    struct handler_exit exits[REGION_EXITS];
    size_t n = symbols_exits(symbols, function, exits, REGION_EXITS, &out->all);
    out->n = n < REGION_EXITS ? n : REGION_EXITS;
    for (size_t i = 0; i < out->n; i++) {
        unsigned by = exits[i].by;
        out->at[i] = (struct exit_place){.at = exits[i].at,
                                         .by = by == NO_REGISTER ? CORE_PC
                                               : by == ARM_LR    ? CORE_LR
                                                                 : (enum core_register)(CORE_R0 + by),
                                         .popped = exits[i].popped,
                                         .conditional = exits[i].conditional};
    }
}

static bool region_is_joined(void *symbols, uint64_t address)
{
    return symbols_is_joined(symbols, address);
}

/* Those that what the function runs may reach. */
static void region_find_stacks(struct named_region *named, struct symbols *symbols)
{
    struct region *region = &named->region;
    const struct extent function = {.low = region->start};
    struct code_at_place stacks[REGION_STACKS] = {0};
    uint64_t places[REGION_STACKS];
    size_t which = 0;
    if (!region->may_be_left || symbols == NULL)
        return;
    size_t all = symbols_stacks(symbols, stacks, REGION_STACKS),
           n = all < REGION_STACKS ? all : REGION_STACKS;
    for (size_t i = 0; i < n; i++) {
        places[i] = stacks[i].address;
        region->stacks[i] = (struct region_place){stacks[i].address, stacks[i].isa == ISA_THUMB};
    }
    bool reached = all > n || symbols_reach(symbols, &function, 1, places, n, &which) ||
                   symbols_reach_is_open(symbols, &function);
    region->n_stacks = reached ? all : 0;
}

static bool region_callee_exits(void *context, uint64_t handler)
{
    enum { TAKERS = 64 };
    struct symbols *symbols = context;
    const struct extent function = {.low = handler};
    uint64_t takers[TAKERS];
    size_t which = 0, n = symbols_takers(symbols, takers, TAKERS);
    return n == TAKERS || (n > 0 && (symbols_reach(symbols, &function, 1, takers, n, &which) ||
                                     symbols_reach_is_open(symbols, &function)));
}

static bool region_look_at_function(struct named_region *named, struct symbols *symbols, struct error *error)
{
    struct region *region = &named->region;
    const struct extent function = {named->start.low, named->start.high};
    uint64_t eret = 0;
    struct location place;
    if (named->start.never_returns)
        return error_advise(error, ERROR_USAGE, engine_name_end, "%s never returns (its DWARF says noreturn)",
                            named->start.name);
    bool ends_by_eret = symbols_ends_by_eret(symbols, region->start, &eret);
    symbols_describe(symbols, eret, &place);
    region->eret = ends_by_eret && place.isa == ISA_THUMB ? eret : 0;
    if (ends_by_eret && place.isa != ISA_THUMB)
        return engine_refuse_eret(named->start.name, eret, error);
    bool skips = symbols_skips(symbols, region->start);
    region->may_be_left = skips || symbols_may_leave(symbols);
    if (skips)
        doubt_add(region->doubt, "it may return elsewhere than to LR: such a call is not a hit");
    if (symbols != NULL && function.high > function.low)
        region->high = symbols_own_end(symbols, &function);
    named->recurs = symbols_recurs(symbols, &function);
    region_find_exits(symbols, region->start, &region->exits);
    region->start_again = symbols_jumps_to(symbols, &function);
    region->one_stack = region->start_again && symbols_has_one_stack(symbols, region->start);
    region_find_stacks(named, symbols);
    region->is_return = is_return;
    region->is_joined = region_is_joined;
    region->entered_by = entered_by;
    region->find_exits = region_find_exits;
    region->callee_exits = region_callee_exits;
    return true;
}

static bool place_nests(struct symbols *symbols, uint64_t place)
{
    struct extent function = {0, 0};
    symbols_whole(symbols, place, &function);
    return symbols_nests(symbols, &function);
}

#define TWO_FUNCTIONS "the ends are in two functions"

/* What the frames of START and END do not prove. `goes`: on the way the code goes elsewhere, or calls. */
static const char *frames_doubt(const struct named_region *named, struct symbols *symbols, bool goes)
{
    const struct region *region = &named->region;
    if (symbols == NULL)
        return "without --elf the ends may be of two calls";
    bool handlers =
        symbols_handlers_reach(symbols, region->start) || symbols_handlers_reach(symbols, region->end);
    switch (named->frames) {
    case FRAMES_UNKNOWN:
        return "without call frame information that the code confirms the ends may be of two calls";
    case FRAMES_ONE_ONLY:
        return handlers ? "without call frame information one end alone may be in a handler" : "";
    case FRAMES_OF_TWO:
        if (symbols_may_leave(symbols))
            return TWO_FUNCTIONS ": they may be of two calls, or two tasks";
        if (goes &&
            (symbols_pointers_reach(symbols, region->start) || symbols_pointers_reach(symbols, region->end)))
            return TWO_FUNCTIONS ": an end that a handler or a callback reaches may count";
        return goes && (place_nests(symbols, region->start) || place_nests(symbols, region->end))
                   ? TWO_FUNCTIONS ", one of which may call itself: they may be of two calls"
                   : "";
    case FRAMES_KNOWN_ONE:
    case FRAMES_KNOWN:
        break;
    }
    return "";
}

/* Apart from a Cortex-M's handlers: there IPSR shows them. */
static bool never_nests(struct symbols *symbols, const struct extent *function)
{
    struct symbols_machine machine;
    if (symbols == NULL || symbols_may_leave(symbols) || symbols_nests(symbols, function))
        return false;
    symbols_machine(symbols, &machine);
    return machine.profile == 'M' || !symbols_handlers_reach(symbols, function->low);
}

bool region_look_into(struct named_region *named, struct symbols *symbols, struct error *error)
{
    struct region *region = &named->region;
    struct frame_base at_start, at_end;
    struct held held;
    region->is_held = region_is_held;
    region->context = symbols;
    symbols_file(symbols, named->start.address, named->file, sizeof named->file);
    if (!region_check_place(symbols, &named->start, error) ||
        (!region->to_return && !region_check_place(symbols, &named->end, error)))
        return false;
    if (region->to_return && symbols_return_held(symbols, region->start, &held))
        return refuse_held(named->start.name, "returns to a place", &held, error);
    if (region->to_return)
        return region_look_at_function(named, symbols, error);
    named->frames = symbols_frames(symbols, region->start, region->end, &at_start, &at_end);
    region->in_function = named->frames == FRAMES_KNOWN || (named->frames == FRAMES_KNOWN_ONE &&
                                                            symbols_handlers_reach(symbols, region->start));
    if (region->in_function) {
        region->start_base = register_of(&at_start);
        region->end_base = register_of(&at_end);
        region->apart = at_start.offset - at_end.offset;
        region->entered_apart = at_start.offset;
    }
    struct symbols_ways ways = symbols_ways(symbols, region->start, region->end);
    snprintf(region->doubt, sizeof region->doubt, "%s",
             frames_doubt(named, symbols, !ways.ends || ways.leaves || ways.calls));
    /* Where the code of one call never leads to the end, a later call's is meant */
    struct extent function = {named->start.low, named->start.high};
    symbols_whole(symbols, region->start, &function);
    bool lost = ways.ends && (ways.leaves || (ways.calls && symbols_may_leave(symbols))),
         two = named->frames == FRAMES_OF_TWO, at_entry = region->start == function.low;
    region->is_unread = symbols == NULL;
    named->of_two_calls = !two && !ways.ends && region->start != region->end;
    named->code = (struct extent){0, 0};
    bool may_be_next_call = region->start == region->end && at_entry && ways.leaves;
    if (ways.ends && !may_be_next_call && !(two && (ways.leaves || ways.calls)))
        named->code = ways.code;
    bool elsewhere = two && (ways.leaves || ways.calls);
    region->start_again = region->start != region->end && (ways.again || elsewhere || (lost && at_entry));
    /* The engines step over such a start */
    if ((region->start_again || region->start == region->end) &&
        symbols_held_after(symbols, region->start, &held))
        return refuse_held(named->start.name, "is left by single steps, into what is", &held, error);
    region->never_nests = (region->start_again || lost) && never_nests(symbols, &function);
    if (lost && !two && symbols_is_entered(symbols, &function))
        doubt_add(region->doubt, "other functions jump into this one: an end may belong to an earlier call");
    if (lost && !two && !at_entry)
        region->entered = (struct region_place){function.low, region->start_is_thumb};
    return true;
}

bool region_find(struct named_region *out, const struct session *session, const char *start, const char *end,
                 struct error *error)
{
    return region_locate(out, session->symbols, start, end, &session->request->process, error) &&
           region_look_into(out, session->symbols, error);
}

/* ---- region file */

/* --- a line --------------------------------------------------------------------------------------------- */

/* Decimals without a sign or an exponent. */
static bool region_file_read_number(const char *text, double *out)
{
    char *end;
    if (text[strspn(text, "0123456789.")] != '\0' || text[0] == '\0' || strlen(text) > 24)
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out) && *out > 0;
}

static bool region_file_read_budget(const struct word_file *file, const char *number, const char *unit,
                                    struct budget *out)
{
    static const struct {
        const char *name;
        double each;
        bool is_time;
    } units[] = {{"cycles", 1, false}, {"ns", 1e-9, true}, {"us", 1e-6, true},
                 {"µs", 1e-6, true},   {"ms", 1e-3, true}, {"s", 1, true}};
    double value;
    if (!region_file_read_number(number, &value))
        return word_file_fails(file, "a budget is a number above 0, such as 1200, not \"%.32s\"", number);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0) {
            out->limit = value * units[i].each;
            out->is_time = units[i].is_time;
            return (out->is_time ? out->limit >= 1e-12 && out->limit < 1e9 : value >= 1e-3 && value < 1e15) ||
                   word_file_fails(file, "a budget is from 0.001 to 1e15 cycles, or from 0.001 ns to 1e9 s");
        }
    return word_file_fails(file, "the unit of a budget is cycles, ns, us, ms or s, not \"%.32s\"", unit);
}

static bool begins_rest(const struct words *words, size_t i)
{
    return words_have(words, i, "<=") ||
           (words_have(words, i + 1, "<=") &&
            (words_have(words, i, "max") || words_have(words, i, "mean"))) ||
           (i < words->n && !words->quoted[i] && words->at[i][0] == '-');
}

static bool take_budget(const struct word_file *file, const struct words *words, size_t *i,
                        struct region_line *line)
{
    line->budget.of = words_have(words, *i, "mean") ? BUDGET_MEAN : BUDGET_MAX;
    *i += words_have(words, *i, "<=") ? 1 : 2;
    if (*i + 1 >= words->n)
        return word_file_fails(file, "after <= follow a number and its unit, such as 1200 cycles or 40 us");
    *i += 2;
    return region_file_read_budget(file, words->at[*i - 2], words->at[*i - 1], &line->budget);
}

static bool take_option(const struct word_file *file, const struct words *words, size_t *i,
                        struct region_line *line)
{
    const char *name = words->at[*i], *value = *i + 1 < words->n ? words->at[*i + 1] : "";
    *i += 2;
    if (strcmp(name, "-r") == 0 || strcmp(name, "--repeat") == 0)
        return (value_many(value, INT32_MAX, &line->hits) && line->hits > 0) ||
               word_file_fails(file, "%s takes a whole number from 1 up, not \"%.32s\"", name, value);
    if (strcmp(name, "--threshold") == 0)
        return verdict_threshold(value, &line->threshold) ||
               word_file_fails(file, "--threshold takes a part such as 2%% or 0.02, not \"%.32s\"", value);
    return word_file_fails(file, "a region takes -r N and --threshold PART, not \"%.32s\"", name);
}

static bool take_words(const struct word_file *file, const struct words *words, struct region_line *line)
{
    size_t i = 2;
    *line = (struct region_line){.line = file->line, .threshold = -1};
    if (words->n < 2 || begins_rest(words, 1))
        return word_file_fails(file, "a region is a name, and a function or a start and an end");
    if (!words_copy(file, line->name, sizeof line->name, words->at[0], "the name") ||
        !words_copy(file, line->start, sizeof line->start, words->at[1], "the start"))
        return false;
    if (i < words->n && !begins_rest(words, i) &&
        !words_copy(file, line->end, sizeof line->end, words->at[i++], "the end"))
        return false;
    while (i < words->n) {
        bool is_budget = words_have(words, i, "<=") || words_have(words, i + 1, "<=");
        if (!begins_rest(words, i))
            return word_file_fails(file, "\"%.64s\" is too much: a budget and options follow the region",
                                   words->at[i]);
        if (is_budget && line->budget.of != BUDGET_NONE)
            return word_file_fails(file, "a second budget");
        if (is_budget ? !take_budget(file, words, &i, line) : !take_option(file, words, &i, line))
            return false;
    }
    return true;
}

static bool region_file_add(struct region_file *out, const struct word_file *file,
                            const struct region_line *line)
{
    for (size_t i = 0; i < out->n; i++)
        if (strcmp(out->lines[i].name, line->name) == 0)
            return word_file_fails(file, "line %u has the name \"%.64s\", too", out->lines[i].line,
                                   line->name);
    if (out->n == REGION_FILE_MOST)
        return word_file_fails(file, "more than %d regions", REGION_FILE_MOST);
    struct region_line *more = array_grow(out->lines, out->n + 1, &out->room, sizeof *more);
    if (more == NULL)
        return error_memory(file->error);
    out->lines = more;
    out->lines[out->n++] = *line;
    return true;
}

static bool region_file_take_line(void *out, const struct word_file *file, const struct words *words)
{
    struct region_line region;
    return take_words(file, words, &region) && region_file_add(out, file, &region);
}

bool region_file_parse(const char *text, size_t size, const char *path, struct region_file *out,
                       struct error *error)
{
    struct word_file file = {.name = out->file, .error = error};
    *out = (struct region_file){.n = 0};
    utf8_clean(out->file, sizeof out->file, path);
    return word_file_parse(&file, text, size, region_file_take_line, out) &&
           (out->n > 0 || word_file_fails(&file, "it names no region"));
}

bool region_file_read(const char *path, const volatile sig_atomic_t *cancel, struct region_file *out,
                      struct error *error)
{
    size_t size;
    *out = (struct region_file){.n = 0};
    char *text = word_file_read(path, cancel, &size, error);
    bool ok = text != NULL && region_file_parse(text, size, path, out, error);
    free(text);
    return ok;
}

void region_file_free(struct region_file *file)
{
    free(file->lines);
    *file = (struct region_file){.n = 0};
}

static void region_file_put_word(FILE *out, const char *word, int width)
{
    bool quotes = word[strcspn(word, " \t\r#")] != '\0' || word[0] == '-' || strcmp(word, "max") == 0 ||
                  strcmp(word, "mean") == 0 || strcmp(word, "<=") == 0;
    int used = fprintf(out, quotes ? "\"%s\"" : "%s", word);
    fprintf(out, "%*s", used < width ? width - used : 0, "");
}

bool region_file_write(FILE *out, const struct region_line *line)
{
    region_file_put_word(out, line->name, 30);
    fputs("  ", out);
    region_file_put_word(out, line->start, 30);
    if (line->end[0] != '\0') {
        fputs("  ", out);
        region_file_put_word(out, line->end, 0);
    }
    if (line->budget.of != BUDGET_NONE) {
        struct verdict_line named = budget_decide(&line->budget, NULL, 1);
        fprintf(out, "  %s", named.name);
    }
    fputc('\n', out);
    return !ferror(out);
}
