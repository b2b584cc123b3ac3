/* SPDX-License-Identifier: MIT */
#include "commands/command.h"

#include "base/deadline.h"
#include "knc/msr.h"
#include "links/dap/carrier.h"
#include "symbols/symbols.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 10000 };

/* Who gave an option, strongest first. */
enum source { SOURCE_NONE, SOURCE_USER, SOURCE_FOLDER, SOURCE_OWN };

/* The state of reading; `typed` has each option as it is on the command line, "" if it does not. */
struct reader {
    struct options *options, usual; /* as if nothing was given */
    char typed[OPTION_MOST][24];
    enum source sources[OPTION_MOST];
    bool skips_refused; /* lines that a pmu-probe.conf must not have */
    enum command_id command;
    bool has_command;
    const char *strange_format;   /* refused when the command is known; NULL: none */
    const struct option *waiting; /* the last word, which needs a value after it; NULL: it needs none */
    struct error *error;
};

static bool was_given(const struct reader *r, const struct option *option)
{
    return r->sources[option - option_table] == SOURCE_USER;
}

/* As it is called in errors. */
static void note_given(struct reader *r, const struct option *option, const char *as)
{
    r->sources[option - option_table] = SOURCE_USER;
    snprintf(r->typed[option - option_table], sizeof r->typed[0], "%s", as);
}

static bool is_for(const struct reader *r, const struct option *option)
{
    return !r->has_command || (option->commands >> r->command & 1) != 0;
}

static unsigned command_bit(const struct reader *r)
{
    return r->has_command ? 1U << r->command : ~0U;
}

static bool is_flag(const struct option *option)
{
    return option->value == NULL;
}

/* ---- the command line */

/* `before` is "--" on the command line. */
static const char *find_near(const char *name, size_t length, const char *before, char *out, size_t size)
{
    struct near near;
    near_init(&near, name, length);
    for (size_t i = 0; i < option_count; i++) {
        char offered[32];
        snprintf(offered, sizeof offered, "%s%s", before, option_table[i].name);
        near_offer(&near, offered);
    }
    return near_text(&near, out, size);
}

static bool options_refuse_unknown(const char *word, struct error *error)
{
    char room[384];
    size_t length = strcspn(word, "=");
    size_t named = word[1] != '-' && length > 2 ? 2 : length; /* "-n20" */
    return !former_refuse(word, named, error) &&
           error_set(error, ERROR_USAGE, "unknown option %.*s%s", (int)(length < 64 ? length : 64), word,
                     word[1] == '-' ? find_near(word, length, "--", room, sizeof room) : "");
}

static bool read_argument(struct reader *r, int argc, char **argv, int *i)
{
    const char *word = argv[*i], *value = NULL;
    const struct option *option;
    char typed[sizeof r->typed[0]];
    if (word[1] != '-' && word[1] != '\0' && option_find(word + 1, strcspn(word + 1, "=")) != NULL)
        return error_set(r->error, ERROR_USAGE, "unknown option %.64s; did you mean -%.64s?", word, word);
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = option_find(word + 2, length);
        value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
        snprintf(typed, sizeof typed, "--%s", option != NULL ? option->name : "");
    } else {
        option = option_find_letter(word[1]);
        value = word[2] != '\0' ? word + 2 : NULL;
        snprintf(typed, sizeof typed, "-%c", word[1]);
    }
    if (option == NULL)
        return options_refuse_unknown(word, r->error);
    bool counts = option->kind == OPTION_VERBOSE && word[1] != '-';
    for (; counts && value != NULL && *value == option->letter; value++)
        r->options->verbose++; /* -vv */
    if (counts && value != NULL && *value == '\0')
        value = NULL;
    if (is_flag(option) && value != NULL)
        return error_set(r->error, ERROR_USAGE, "%s takes no value; got \"%.64s\"", typed, value);
    if (!is_flag(option) && value == NULL) {
        const struct option_words *words = &option_words[option->kind];
        if (*i + 1 >= argc) {
            r->waiting = option;
            return error_set(r->error, ERROR_USAGE, "%s needs %s after it: %s %s", typed, words->noun, typed,
                             words->example != NULL ? words->example : option->value);
        }
        value = argv[++*i];
    }
    note_given(r, option, typed);
    enum format format;
    if (option->kind == OPTION_FORMAT && !value_format(value, &format)) {
        r->strange_format = value;
        return true;
    }
    return option_store(r->options, option, typed, value != NULL ? value : "", r->error);
}

static bool read_words(struct reader *r, int argc, char **argv)
{
    struct options *options = r->options;
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && word[0] == '-' && word[1] != '\0') {
            if (!read_argument(r, argc, argv, &i))
                return false;
        } else if (options->request.command == NULL) {
            options->request.command = word;
        } else if (options->n_operands < OPTION_OPERANDS) {
            options->operands[options->n_operands++] = word;
        } else {
            return error_set(r->error, ERROR_USAGE, "unexpected argument \"%.64s\": at most %d are taken",
                             word, OPTION_OPERANDS);
        }
    }
    return r->strange_format == NULL || option_store(options, option_find("format", strlen("format")),
                                                     "--format", r->strange_format, r->error);
}

/* ---- what goes together */

/* The commands `help`, `help NAME` and `version` mean the same as the options. */
static void take_words_for_options(struct options *options)
{
    if (options->request.command != NULL && strcmp(options->request.command, "help") == 0) {
        options->help = true;
        options->request.command = options->n_operands > 0 ? options->operands[0] : NULL;
        options->n_operands = 0;
    } else if (options->request.command != NULL && strcmp(options->request.command, "version") == 0) {
        options->version = true;
        options->request.command = NULL;
    }
}

static bool options_check_operands(const struct reader *r)
{
    const struct options *options = r->options;
    const struct command *command = &commands[r->command];
    if (options->n_operands > command->most)
        return error_set(r->error, ERROR_USAGE, "unexpected argument \"%.64s\": %s takes %s",
                         options->operands[command->most], command->name,
                         command->operands != NULL ? command->operands : "options only");
    return options->n_operands >= command->least ||
           error_set(r->error, ERROR_USAGE, "%s needs %s", command->name, command->needs);
}

static bool sets_format(const struct option *option)
{
    return option->kind == OPTION_JSON || option->kind == OPTION_CSV || option->kind == OPTION_FORMAT;
}

static bool has_format(const struct reader *r)
{
    return !r->has_command || (commands[r->command].formats >> r->options->format & 1) != 0;
}

bool format_refuse(enum format format, const char *typed, const char *who, unsigned formats,
                   struct error *error)
{
    char list[128];
    command_formats(formats, list, sizeof list);
    return error_set(error, ERROR_USAGE, "%s: %s prints %s, not %s", typed, who, list,
                     value_format_name(format));
}

/* As the option that says the format is typed. */
static const char *typed_format(const struct reader *r)
{
    const char *typed = "";
    for (size_t i = 0; i < option_count; i++)
        if (was_given(r, &option_table[i]) && sets_format(&option_table[i]))
            typed = r->typed[i];
    return typed;
}

static bool check_given(const struct reader *r)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        if (was_given(r, option) && !is_for(r, option) && !option->is_idle &&
            (!sets_format(option) || has_format(r)))
            return option_refuse(option, r->typed[i], r->command, r->error);
    }
    const struct command *command = &commands[r->command];
    return has_format(r) ||
           format_refuse(r->options->format, typed_format(r), command->name, command->formats, r->error);
}

/* ---- pmu-probe.conf */

static bool are_named(const struct option *one, const char *name, const struct option *other,
                      const char *its_name)
{
    return strcmp(one->name, name) == 0 && strcmp(other->name, its_name) == 0;
}

/* Whether a stronger `said` leaves nothing for `option` to say. */
static bool takes_place(const struct reader *r, const struct option *said, const struct option *option)
{
    const char *probe = r->options->request.probe;
    bool openocd = said->kind == OPTION_OPENOCD && option->kind == OPTION_OPENOCD;
    /* A separator may go with a format from the command line */
    bool formats = sets_format(said) && sets_format(option) && !was_given(r, said);
    bool limits = are_named(said, "for", option, "repeat") || are_named(said, "repeat", option, "for");
    bool counters = are_named(said, "probe", option, "counters") && probe != NULL && msr_spec_is(probe);
    return said == option || openocd || formats || limits || counters ||
           option_excludes(option, said, command_bit(r)) != NULL ||
           option_excludes(said, option, command_bit(r)) != NULL;
}

/* Whether a line of this pmu-probe.conf counts. */
static bool options_is_wanted(const struct reader *r, const struct option *option, enum source source)
{
    bool wanted = is_for(r, option);
    for (size_t i = 0; i < option_count && wanted; i++)
        wanted = r->sources[i] == SOURCE_NONE || r->sources[i] >= source ||
                 !takes_place(r, &option_table[i], option);
    /* The first of several lines counts */
    return wanted && (option->kind != OPTION_TEXT || *(char **)((char *)r->options + option->offset) == NULL);
}

static bool belongs_to_the_command_line(const struct option *option)
{
    return option->offset == offsetof(struct options, help) ||
           option->offset == offsetof(struct options, help_all) ||
           option->offset == offsetof(struct options, version) ||
           option->offset == offsetof(struct options, trust_conf);
}

static bool options_check_line(const struct option *option, const char *key, const char *value,
                               struct error *error)
{
    char room[384];
    snprintf(room, sizeof room, "--%.64s", key);
    if (former_refuse(room, strlen(room), error))
        return false;
    if (option == NULL)
        return error_set(error, ERROR_USAGE, "unknown option \"%.64s\"%s", key,
                         find_near(key, strlen(key), "", room, sizeof room));
    if (belongs_to_the_command_line(option))
        return error_set(error, ERROR_USAGE, "%s belongs to the command line", option->name);
    if (is_flag(option) && value != NULL)
        return error_set(error, ERROR_USAGE, "%s takes no value", option->name);
    return is_flag(option) || value != NULL ||
           error_set(error, ERROR_USAGE, "write %s = %s", option->name, option->value);
}

static bool refuse_act(const struct option *option, const char *does, struct error *error)
{
    return error_advise(error, ERROR_USAGE,
                        "Add --trust-conf, or write the line into ~/.config/pmu-probe/pmu-probe.conf.",
                        "%s %s, which this folder's file must not", option->name, does);
}

static bool options_read_line(struct reader *r, enum source source, struct conf *conf, const char *key,
                              char *value)
{
    const struct option *option = option_find(key, strlen(key));
    bool trusted = conf->is_own || r->options->trust_conf;
    if (!options_check_line(option, key, value, r->error))
        return false;
    if (value != NULL && !conf_beside(conf, option, &value, r->error))
        return false;
    const char *text = value != NULL ? value : "", *does = option_acts(option, text);
    bool wanted = options_is_wanted(r, option, source), refused = wanted && does != NULL && !trusted;
    if (refused && r->skips_refused)
        return true;
    if (refused)
        return refuse_act(option, does, r->error);
    if (wanted)
        r->sources[option - option_table] = source;
    /* A line that does not count must be right all the same */
    struct options unwanted = *r->options;
    return option_store(wanted ? r->options : &unwanted, option, option->name, text, r->error);
}

static bool read_conf(struct reader *r, enum conf_which which, bool *has_own)
{
    struct conf conf;
    struct options *options = r->options;
    char *key, *value;
    bool ok = conf_open(&conf, which, options->trust_conf, r->error);
    options->confs[which] = conf.text;
    if (conf.text != NULL)
        memcpy(options->conf_names[which], conf.name, sizeof options->conf_names[which]);
    if (conf.passed[0] != '\0' && !r->skips_refused)
        request_note(&options->request, "%s belongs to user %lu, so it is passed over; --trust-conf reads it",
                     conf.passed, (unsigned long)conf.passed_owner);
    if (!ok)
        return false;
    *has_own = conf.is_own;
    while (conf_next(&conf, &key, &value, r->error))
        if (!options_read_line(r, which == CONF_OWN ? SOURCE_OWN : SOURCE_FOLDER, &conf, key, value))
            break;
    return r->error->kind == ERROR_NONE || error_prefix(r->error, "%s:%u: ", conf.name, conf.line);
}

static bool read_confs(struct reader *r)
{
    bool has_own = false;
    return read_conf(r, CONF_FOLDER, &has_own) && (has_own || read_conf(r, CONF_OWN, &has_own));
}

/* What commands want to know of the command line itself. Returns whether a format is on it. */
static bool note_said(struct reader *r)
{
    bool format = false;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        bool given = was_given(r, option);
        format = format || (given && sets_format(option));
        r->options->request.interval_said =
            r->options->request.interval_said || (given && option->kind == OPTION_MILLISECONDS);
        r->options->request.wires_said = r->options->request.wires_said || (given && option->of_dap);
    }
    return format;
}

/* ---- what goes together, once all is given: what the command line says too much is refused, what a
 * pmu-probe.conf says is forgotten */

static bool options_forget(struct reader *r, const struct option *option)
{
    if (was_given(r, option))
        return false;
    option_forget(r->options, option, &r->usual);
    r->sources[option - option_table] = SOURCE_NONE;
    return true;
}

/* GDB's scripts name their own link for every command. */
static bool is_gdbs_own(const struct reader *r, const struct option *option)
{
    return strcmp(option->name, "probe") == 0 && r->options->request.probe != NULL &&
           strncmp(r->options->request.probe, "door:", strlen("door:")) == 0;
}

static bool check_needs(struct reader *r, const struct option *option)
{
    const struct option_rule *needs = &option->needs;
    bool takes = false, said = false; /* one of what it needs */
    for (size_t i = 0; i < option_count && needs->why != NULL; i++) {
        bool needed = option_is_in(&option_table[i], needs->options);
        takes = takes || (needed && is_for(r, &option_table[i]));
        said = said || (needed && r->sources[i] != SOURCE_NONE);
    }
    return !takes || said || (needs->commands & command_bit(r)) == 0 || options_forget(r, option) ||
           error_set(r->error, ERROR_USAGE, "%s %s", r->typed[option - option_table], needs->why);
}

static bool check_shown(struct reader *r, const struct option *option)
{
    char who[64];
    const char *typed = r->typed[option - option_table], *format = typed_format(r);
    snprintf(who, sizeof who, "%s %s", commands[r->command].name, typed);
    return option->formats == 0 || (option->formats >> r->options->format & 1) != 0 ||
           options_forget(r, option) ||
           format_refuse(r->options->format, *format != '\0' ? format : typed, who, option->formats,
                         r->error);
}

/* OpenOCD and debuggers configure the wires themselves. */
static bool check_wires(struct reader *r, const struct option *option)
{
    const struct options *options = r->options;
    const char *typed = r->typed[option - option_table];
    if (!option->of_dap || !was_given(r, option) ||
        (options->request.n_openocd == 0 &&
         (options->request.probe == NULL || probe_spec_is(options->request.probe) ||
          wire_spec(options->request.probe) != NULL)))
        return true;
    return error_set(r->error, ERROR_USAGE, "%s belongs to a CMSIS-DAP probe, not to %.72s", typed,
                     options->request.n_openocd > 0
                         ? "OpenOCD: -c 'adapter speed 4000' or -c 'transport select swd'"
                         : options->request.probe);
}

static bool check_rival(struct reader *r, const struct option *option, const struct option *other)
{
    const char *why = option_excludes(option, other, command_bit(r));
    if (why == NULL || is_gdbs_own(r, option) || is_gdbs_own(r, other))
        return true;
    const char *ahead = r->typed[(option < other ? option : other) - option_table],
               *after = r->typed[(option < other ? other : option) - option_table];
    return options_forget(r, other) || !was_given(r, option) ||
           error_set(r->error, ERROR_USAGE, "%s and %s: %s; leave one of them out", ahead, after, why);
}

static bool check_said(struct reader *r)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        if (r->sources[i] == SOURCE_NONE)
            continue;
        if (!check_needs(r, option) || !check_shown(r, option) || !check_wires(r, option))
            return false;
        for (size_t k = 0; k < option_count; k++)
            if (r->sources[k] != SOURCE_NONE && !check_rival(r, option, &option_table[k]))
                return false;
    }
    return true;
}

/* After the command line: the environment, then the files. */
static bool read_the_rest(struct reader *r)
{
    struct options *options = r->options;
    const struct option *probe = option_find("probe", strlen("probe"));
    const char *from_environment = getenv("PMU_PROBE");
    bool format_given = note_said(r);
    if (!was_given(r, probe) && options->request.n_openocd == 0 && is_for(r, probe) &&
        from_environment != NULL && *from_environment != '\0') {
        options->request.probe = options->typed.probe = from_environment;
        note_given(r, probe, "$PMU_PROBE");
    }
    enum format format = options->format;
    if (!read_confs(r))
        return false;
    if (format_given || !has_format(r))
        options->format = format;
    return true;
}

bool options_read(struct options *options, int argc, char **argv, struct error *error)
{
    struct reader reader = {.options = options, .error = error}, *r = &reader;
    reader.usual = (struct options){
        .request = {.core = -1, .interval_ms = 1000, .timeout_s = (double)patience_ms(TIMEOUT_MS) / 1000},
        .separator = ","};
    *options = reader.usual;
    if (!read_words(r, argc, argv))
        return false;
    take_words_for_options(options);
    if (options->request.command != NULL) {
        const struct command *command = command_find(options->request.command, error);
        if (command == NULL)
            return false;
        r->command = (enum command_id)(command - commands);
        r->has_command = true;
    }
    if (options->help || options->version || !r->has_command)
        return true;
    if (!options_check_operands(r) || !check_given(r) || !read_the_rest(r) || !check_said(r))
        return false;
    if (r->command == COMMAND_RECORD && options->output == NULL)
        options->output = PROFILE_NAME;
    options->typed.n = argc;
    options->typed.words = argv;
    options->typed.has_conf = options->confs[CONF_FOLDER] != NULL || options->confs[CONF_OWN] != NULL;
    return true;
}

const struct option *options_read_partly(struct options *options, int argc, char **argv)
{
    struct error ignored = {0};
    struct reader reader = {.options = options, .error = &ignored}, *r = &reader;
    *options = (struct options){.request.core = -1};
    read_words(r, argc, argv);
    for (size_t i = 0; options->request.command != NULL && i < COMMANDS && !r->has_command; i++) {
        r->has_command = strcmp(commands[i].name, options->request.command) == 0;
        r->command = (enum command_id)i;
    }
    error_clear(&ignored);
    r->skips_refused = true;
    read_confs(r);
    return r->waiting;
}

void options_free(struct options *options)
{
    for (int i = 0; i < CONFS; i++) {
        free(options->confs[i]);
        options->confs[i] = NULL;
    }
}
