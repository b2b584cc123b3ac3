/* SPDX-License-Identifier: MIT */
#include "symbols/symbols.h"

#include "symbols/internal.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length of the printable character here; 0 if there is none. */
static size_t character(const char *text, size_t length)
{
    const uint8_t *byte = (const uint8_t *)text;
    if (byte[0] < 0x80)
        return byte[0] >= 0x20 && byte[0] != 0x7f;
    size_t size = byte[0] >= 0xc2 && byte[0] < 0xe0   ? 2
                  : byte[0] >= 0xe0 && byte[0] < 0xf0 ? 3
                  : byte[0] >= 0xf0 && byte[0] < 0xf5 ? 4
                                                      : 0;
    if (size == 0 || size > length)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xf0 && byte[1] < 0x90);
    bool surrogate = byte[0] == 0xed && byte[1] > 0x9f;
    bool beyond = byte[0] == 0xf4 && byte[1] > 0x8f;
    bool control = byte[0] == 0xc2 && byte[1] < 0xa0;
    return overlong || surrogate || beyond || control ? 0 : size;
}

void name_copy(char *out, size_t room, const char *text, size_t length)
{
    if (room == 0)
        return;
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t size = character(text + i, length - i);
        size_t wide = size ? size : 1;
        if (used + wide >= room)
            break;
        if (size == 0)
            out[used] = '?';
        else
            memcpy(out + used, text + i, size);
        used += wide;
        i += wide;
    }
    out[used] = '\0';
}

const char *name_of_file(const char *path)
{
    const char *base = path;
    for (const char *c = path; *c != '\0'; c++)
        if (*c == '/' || *c == '\\')
            base = c + 1;
    return base;
}

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

bool path_ends_with(const char *path, const char *tail, size_t length)
{
    size_t all = strlen(path);
    for (; length > 2 && tail[0] == '.' && is_separator(tail[1]); length -= 2)
        tail += 2;
    if (length == 0 || all < length)
        return false;
    const char *end = path + all - length;
    for (size_t i = 0; i < length; i++)
        if (end[i] != tail[i] && !(is_separator(end[i]) && is_separator(tail[i])))
            return false;
    return all == length || is_separator(end[-1]) || is_separator(tail[0]);
}

enum { FAR = UINT32_MAX, MOST_EDITS = 3 };

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/*
 * The number of edits, or more than `most`. Two swapped letters are one edit. Only the diagonal band that can
 * stay within `most` is computed, and a hopeless row ends it: so a wrong name in a table of 100000 costs
 * milliseconds.
 */
static unsigned edits(const char *a, size_t a_length, const char *b, size_t b_length, unsigned most)
{
    unsigned rows[3][NEAR_LENGTH + 1];
    unsigned *second = rows[0];
    unsigned *above = rows[1];
    unsigned *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t from = i > most ? i - most : 1;
        size_t to = i + most < b_length ? i + most : b_length;
        unsigned best = row[from - 1] = from == 1 ? (unsigned)i : most + 1;
        for (size_t j = from; j <= to; j++) {
            unsigned cost = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (row[j - 1] + 1 < cost)
                cost = row[j - 1] + 1;
            if (j < i + most && above[j] + 1 < cost)
                cost = above[j] + 1;
            if (i > 1 && j > 1 && second[j - 2] + 1 < cost && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                cost = second[j - 2] + 1;
            row[j] = cost;
            if (cost < best)
                best = cost;
        }
        if (best > most)
            return best;
        unsigned *last = second;
        second = above;
        above = row;
        row = last;
    }
    return above[b_length];
}

static unsigned score_of(const struct near *near, const char *name, size_t length)
{
    size_t wanted = near->length;
    unsigned most = wanted < 3 ? 1 : wanted / 3 < MOST_EDITS ? (unsigned)(wanted / 3) : MOST_EDITS;
    size_t gap = length > wanted ? length - wanted : wanted - length;
    if (gap <= most && length < NEAR_LENGTH) {
        unsigned count = edits(near->wanted, wanted, name, length, most);
        if (count <= most)
            return count;
    }
    if (wanted < 3)
        return FAR;
    const char *inside = strcasestr(name, near->wanted);
    if (inside == NULL)
        return FAR;
    return MOST_EDITS + (inside == name ? 1 : 2);
}

/* The text after the next "::" outside brackets; NULL: there is none. The name of an operator ends the
 * search. */
static const char *behind_colons(const char *name)
{
    int depth = 0;
    for (const char *at = name; *at != '\0'; at++) {
        depth += strchr("(<[{", *at) != NULL ? 1 : strchr(")>]}", *at) != NULL ? -1 : 0;
        if (depth == 0 && at[0] == ':' && at[1] == ':')
            return at + 2;
    }
    return NULL;
}

/* Users leave out namespaces: the name after them counts, too, a little less. */
static unsigned score(const struct near *near, const char *name)
{
    unsigned best = score_of(near, name, strlen(name));
    for (const char *tail = behind_colons(name); tail != NULL; tail = behind_colons(tail)) {
        unsigned inner = score_of(near, tail, strlen(tail));
        if (inner < best && inner + 1 < best)
            best = inner + 1;
    }
    return best;
}

void near_init(struct near *near, const char *wanted, size_t length)
{
    *near = (struct near){.count = 0};
    const char *parameters = length > 1 ? memchr(wanted + 1, '(', length - 1) : NULL;
    if (parameters != NULL)
        length = (size_t)(parameters - wanted);
    near->length = length < NEAR_LENGTH ? length : NEAR_LENGTH - 1;
    memcpy(near->wanted, wanted, near->length);
}

static bool better(const struct near_name *a, const struct near_name *b)
{
    if (a->score != b->score)
        return a->score < b->score;
    size_t a_length = strlen(a->name);
    size_t b_length = strlen(b->name);
    return a_length != b_length ? a_length < b_length : strcmp(a->name, b->name) < 0;
}

void near_offer(struct near *near, const char *name)
{
    struct near_name offer = {.score = score(near, name)};
    if (near->length == 0 || offer.score == (unsigned)FAR || strlen(name) >= sizeof offer.name)
        return;
    name_copy(offer.name, sizeof offer.name, name, strlen(name));
    for (size_t i = 0; i < near->count; i++)
        if (strcmp(near->best[i].name, offer.name) == 0)
            return;
    size_t place = near->count;
    while (place > 0 && better(&offer, &near->best[place - 1]))
        place--;
    if (place == NEAR_NAMES)
        return;
    if (near->count < NEAR_NAMES)
        near->count++;
    memmove(&near->best[place + 1], &near->best[place], (near->count - place - 1) * sizeof offer);
    near->best[place] = offer;
}

const char *near_text(const struct near *near, char *out, size_t room)
{
    static const char begin[] = "; did you mean ";
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < near->count; i++) {
        const char *joint = used == 0 ? begin : ", ";
        if (used + strlen(joint) + strlen(near->best[i].name) + sizeof "?" > room)
            continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s", joint, near->best[i].name);
    }
    if (used > 0)
        snprintf(out + used, room - used, "?");
    return out;
}

/* --- demangling ----------------------------------------------------------------------------------------- */

/* Without DMGL_NO_RECURSE_LIMIT libiberty refuses names of more than 1024 characters (d_demangle_callback in
 * its cp-demangle.c), as each character may take some of the stack: at most about 150 bytes. */
enum { MANGLED_MOST = 1 << 14, READ_ROOM = 4 * DEMANGLED_ROOM };

/* --- what compilers append ----------------------------------------------------------------------------- */

static bool names_is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return length > 0;
}

static enum likeness word_likeness(const char *word, size_t length)
{
    static const struct {
        const char *word;
        enum likeness likeness;
    } words[] = {
        {"actor", LIKE_PART},     {"destroy", LIKE_PART},     {"resume", LIKE_PART}, {"cleanup", LIKE_PART},
        {"part", LIKE_PART},      {"cold", LIKE_PART},        {"__part", LIKE_PART}, {"isra", LIKE_COPY},
        {"constprop", LIKE_COPY}, {"specialized", LIKE_COPY}, {"clone", LIKE_COPY},  {"lto_priv", LIKE_SAME},
        {"llvm", LIKE_SAME},      {"localalias", LIKE_SAME},  {"__uniq", LIKE_SAME},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0)
            return words[i].likeness;
    return UNLIKE;
}

/* The last dot that is not the first character; 0: there is none. */
static size_t last_dot(const char *text, size_t length)
{
    while (length > 1)
        if (text[--length] == '.')
            return length;
    return 0;
}

/* The length without ".isra.0" and the like; lowers *likeness accordingly. */
static size_t strip_suffixes(const char *text, size_t length, enum likeness *likeness)
{
    for (;;) {
        size_t dot = last_dot(text, length), end = length;
        if (dot == 0)
            return length;
        bool numbered = names_is_number(text + dot + 1, end - dot - 1);
        size_t before = numbered ? last_dot(text, dot) : dot;
        enum likeness word = UNLIKE;
        if (before > 0)
            word = numbered ? word_likeness(text + before + 1, dot - before - 1)
                            : word_likeness(text + dot + 1, end - dot - 1);
        if (word == UNLIKE && !numbered)
            return length;
        length = word != UNLIKE ? before : dot; /* a bare number only distinguishes functions of one name */
        if (word != UNLIKE && word < *likeness)
            *likeness = word;
    }
}

void name_cut_number(char *name)
{
    enum likeness likeness = LIKE_SAME;
    size_t length = strip_suffixes(name, strlen(name), &likeness);
    if (likeness != LIKE_PART)
        name[length] = '\0';
}

/* --- libiberty ----------------------------------------------------------------------------------------- */

/* Receives its output. A few damaged bytes can give endless output, so a jump leaves it at the end of the
 * room. That is safe: its callback interface uses no memory but the stack. */
struct sink {
    char *out;
    size_t room, used;
    jmp_buf full;
};

static void demangle_take(const char *text, size_t length, void *opaque)
{
    struct sink *sink = opaque;
    size_t room = sink->room - 1 - sink->used, fits = length < room ? length : room;
    memcpy(sink->out + sink->used, text, fits);
    sink->used += fits;
    sink->out[sink->used] = '\0';
    if (fits < length)
        longjmp(sink->full, 1);
}

enum spelt { SPELT_NOT, SPELT_BEGIN, SPELT_WHOLE };
enum form { FORM_PLAIN, FORM_SIGNATURE, FORM_WITH_RETURN, FORM_WITH_HASH, FORMS };

static bool is_cxx_or_rust(const char *symbol)
{
    return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

/* The first `length` characters of a symbol, of a form. SPELT_BEGIN: `out` has the beginning of the name, and
 * no room for more. The choice is the hash for names of Rust, the parameters for names of C++. */
static enum spelt demangle(const char *symbol, size_t length, enum form form, char *out, size_t room)
{
    static const int options[FORMS] = {
        [FORM_PLAIN] = DMGL_ANSI | DMGL_NO_RECURSE_LIMIT,
        [FORM_SIGNATURE] = DMGL_ANSI | DMGL_PARAMS | DMGL_RET_DROP | DMGL_NO_RECURSE_LIMIT,
        [FORM_WITH_RETURN] = DMGL_ANSI | DMGL_PARAMS | DMGL_NO_RECURSE_LIMIT,
        [FORM_WITH_HASH] = DMGL_VERBOSE,
    };
    char mangled[MANGLED_MOST];
    struct sink sink = {.out = out, .room = room};
    out[0] = '\0';
    if (!is_cxx_or_rust(symbol) || length >= sizeof mangled)
        return SPELT_NOT;
    memcpy(mangled, symbol, length);
    mangled[length] = '\0';
    if (setjmp(sink.full) != 0)
        return SPELT_BEGIN;
    if (rust_demangle_callback(mangled, form == FORM_WITH_HASH ? DMGL_VERBOSE : 0, demangle_take, &sink) != 0)
        return out[0] != '\0' ? SPELT_WHOLE : SPELT_NOT;
    sink.used = 0;
    out[0] = '\0';
    bool ok = form != FORM_WITH_HASH &&
              cplus_demangle_v3_callback(mangled, options[form], demangle_take, &sink) != 0 && out[0] != '\0';
    return ok ? SPELT_WHOLE : SPELT_NOT;
}

/* --- D, Fortran, Ada ------------------------------------------------------------------------------------ */

/* By rules of our own: libiberty's functions end the process when memory is short. */

/* False: `out` is too small. */
static bool names_append(char *out, size_t room, const char *text, size_t length)
{
    size_t used = strlen(out);
    if (length >= room - used)
        return false;
    memcpy(out + used, text, length);
    out[used + length] = '\0';
    return true;
}

/* _D3dsp6filter4workFiZi is dsp.filter.work; templates are left as they are. */
static bool decode_d(const char *symbol, char *out, size_t room)
{
    const char *at = symbol + 2;
    out[0] = '\0';
    if (strncmp(symbol, "_D", 2) != 0 || !isdigit((unsigned char)*at))
        return false;
    while (isdigit((unsigned char)*at)) {
        size_t length = 0;
        for (; isdigit((unsigned char)*at) && length < MANGLED_MOST; at++)
            length = 10 * length + (size_t)(*at - '0');
        bool is_template = strncmp(at, "__", 2) == 0;
        if (length == 0 || strnlen(at, length) < length || is_template ||
            (out[0] != '\0' && !names_append(out, room, ".", 1)) || !names_append(out, room, at, length))
            return false;
        at += length;
    }
    return true;
}

/* __filters_MOD_run is filters::run. */
static bool decode_fortran(const char *symbol, char *out, size_t room)
{
    static const char joint[] = "_MOD_";
    const char *name = strncmp(symbol, "__", 2) == 0 ? strstr(symbol, joint) : NULL;
    out[0] = '\0';
    return name != NULL && name > symbol + 2 &&
           names_append(out, room, symbol + 2, (size_t)(name - symbol) - 2) &&
           names_append(out, room, "::", 2) &&
           names_append(out, room, name + sizeof joint - 1, strlen(name + sizeof joint - 1));
}

/* filters__twist__2, an overload, is filters.twist. Names of C may have the same form, so none is shown that
 * way. */
static bool decode_ada(const char *symbol, char *out, size_t room)
{
    static const char prefix[] = "_ada_", joint[] = "__";
    const char *at = strncmp(symbol, prefix, sizeof prefix - 1) == 0 ? symbol + sizeof prefix - 1 : symbol;
    out[0] = '\0';
    if (!islower((unsigned char)*at) || strstr(symbol, joint) == NULL)
        return false;
    for (const char *end; (end = strstr(at, joint)) != NULL; at = end + sizeof joint - 1) {
        if (!names_append(out, room, at, (size_t)(end - at)))
            return false;
        if (names_is_number(end + 2, strlen(end + 2)))
            return true;
        if (!names_append(out, room, ".", 1))
            return false;
    }
    return names_append(out, room, at, strlen(at));
}

static bool is_in_other_words(const struct name_query *request, const char *symbol)
{
    char name[DEMANGLED_ROOM];
    bool dotted = strchr(request->squeezed, '.') != NULL;
    if (decode_fortran(symbol, name, sizeof name))
        return strcmp(name, request->squeezed) == 0 || strcmp(strstr(name, "::") + 2, request->squeezed) == 0;
    return dotted && (decode_d(symbol, name, sizeof name) || decode_ada(symbol, name, sizeof name)) &&
           strcmp(name, request->squeezed) == 0;
}

bool name_is_mangled(const char *symbol)
{
    char name[DEMANGLED_ROOM];
    return is_cxx_or_rust(symbol) || decode_d(symbol, name, sizeof name) ||
           decode_fortran(symbol, name, sizeof name);
}

/* --- one way to write a name --------------------------------------------------------------------------- */

static bool names_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80) != 0;
}

static size_t begins(const char *text, size_t length, const char *with)
{
    size_t n = strlen(with);
    return length >= n && memcmp(text, with, n) == 0 ? n : 0;
}

/* The number of bytes here that do not distinguish names. */
static size_t names_noise(const char *text, size_t length)
{
    static const char *const words[] = {"(anonymous namespace)::", "{anonymous}::"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (begins(text, length, words[i]))
            return begins(text, length, words[i]);
    if (begins(text, length, "[abi:")) {
        const char *end = memchr(text, ']', length);
        return end != NULL ? (size_t)(end - text) + 1 : 0;
    }
    return begins(text, length, "::<") ? 2 : 0; /* foo::<u8> and foo<u8> */
}

/* Keeps blanks only between two words. False: `out` has the beginning. */
static bool squeeze(char *out, size_t room, const char *text, size_t length)
{
    size_t used = 0, i = 0;
    bool blank = false;
    while (i < length && used + 2 < room) {
        size_t skip = names_noise(text + i, length - i);
        if (skip > 0 || isspace((unsigned char)text[i])) {
            blank = blank || skip == 0;
            i += skip > 0 ? skip : 1;
            continue;
        }
        if (blank && used > 0 && names_is_word(out[used - 1]) && names_is_word(text[i]))
            out[used++] = ' ';
        blank = false;
        out[used++] = text[i++];
    }
    out[used] = '\0';
    return i == length;
}

/* Mangling spells "operator" and text in braces differently. */
static bool is_spelt_out(const char *text)
{
    return strstr(text, "operator") == NULL && strpbrk(text, "{[") == NULL;
}

/* The function's own name, without template arguments and parameters. */
static void names_find_word(const char *text, char *out, size_t room)
{
    size_t begin = 0, length = 0;
    int depth = 0;
    out[0] = '\0';
    for (size_t i = 0; text[i] != '\0' && is_spelt_out(text); i++) {
        if (text[i] == '(' && depth == 0 && length > 0)
            break;
        depth += text[i] == '<' || text[i] == '(' ? 1 : text[i] == '>' || text[i] == ')' ? -1 : 0;
        if (depth != 0 || !names_is_word(text[i]))
            continue;
        if (i == 0 || !names_is_word(text[i - 1]))
            begin = i;
        length = i + 1 - begin;
    }
    for (size_t i = 0; i < length; i++)
        if ((text[begin + i] & 0x80) != 0)
            return;
    if (length > 0 && length < room)
        snprintf(out, room, "%.*s", (int)length, text + begin);
}

/* " [clone .isra.0]", as binutils show a suffix, becomes ".isra.0" */
static size_t take_clones(const char *text, size_t length, char *suffix, size_t room)
{
    static const char clone[] = " [clone ";
    size_t base = length, used = 0;
    for (size_t i = 0; i + sizeof clone <= length && base == length; i++)
        if (begins(text + i, length - i, clone))
            base = i;
    suffix[0] = '\0';
    for (size_t i = base; i < length;) {
        size_t skip = begins(text + i, length - i, clone);
        const char *end = memchr(text + i, ']', length - i);
        if (skip == 0 || end == NULL || used + (size_t)(end - text) - i >= room)
            return length;
        size_t part = (size_t)(end - text) - i - skip;
        memcpy(suffix + used, text + i + skip, part);
        used += part;
        suffix[used] = '\0';
        i = (size_t)(end - text) + 1;
    }
    return base;
}

void name_query_init(struct name_query *request, const char *text, size_t length)
{
    enum likeness likeness = LIKE_SAME;
    *request = (struct name_query){.text = text, .length = length, .suffix = ""};
    request->base = take_clones(text, length, request->suffix_text, sizeof request->suffix_text);
    if (request->base == length) {
        request->base = strip_suffixes(text, length, &likeness);
        if (length - request->base < sizeof request->suffix_text)
            snprintf(request->suffix_text, sizeof request->suffix_text, "%.*s", (int)(length - request->base),
                     text + request->base);
        else
            request->base = length;
    }
    request->suffix = request->suffix_text;
    if (!squeeze(request->squeezed, sizeof request->squeezed, text, request->base))
        request->squeezed[0] = '\0'; /* its beginning is another name */
    names_find_word(request->squeezed, request->word, sizeof request->word);
}

/* What follows the parameters, such as const and &, may be left out. */
static bool is_spelling(const char *wanted, const char *name)
{
    size_t length = strlen(wanted);
    if (strncmp(name, wanted, length) != 0)
        return false;
    const char *rest = name + length;
    return rest[0] == '\0' ||
           (length > 0 && wanted[length - 1] == ')' &&
            (strcmp(rest, "const") == 0 || strcmp(rest, "volatile") == 0 || strcmp(rest, "&") == 0 ||
             strcmp(rest, "&&") == 0 || strcmp(rest, "const&") == 0 || strcmp(rest, "const&&") == 0));
}

/* Whether the wanted name may be that of a symbol which cannot be read. Manglings have each word after its
 * length; Rust's may have a _ in between. Names of C may begin with _R. */
static bool may_be_named(const struct name_query *request, const char *symbol)
{
    const char *wanted = request->word, *at = symbol;
    if (wanted[0] == '\0')
        return symbol[1] == 'Z' && request->squeezed[0] != '\0';
    for (; (at = strstr(at, wanted)) != NULL; at++) {
        char length[24];
        size_t digits = (size_t)snprintf(length, sizeof length, "%zu", strlen(wanted));
        for (size_t before = digits; before <= digits + 1; before++)
            if ((size_t)(at - symbol) >= before && memcmp(at - before, length, digits) == 0 &&
                (before == digits || at[-1] == '_'))
                return true;
    }
    return false;
}

/* The wanted name against a symbol's in one form. */
enum compared { COMPARED_OTHER, COMPARED_SAME, COMPARED_UNKNOWN };

static enum compared names_compare_form(const struct name_query *request, const char *symbol, size_t stem,
                                        enum form form)
{
    char name[READ_ROOM], squeezed[READ_ROOM];
    enum spelt spelt = demangle(symbol, stem, form, name, sizeof name);
    if (spelt == SPELT_NOT)
        return form == FORM_WITH_HASH ? COMPARED_OTHER : COMPARED_UNKNOWN;
    squeeze(squeezed, sizeof squeezed, name, strlen(name));
    if (spelt == SPELT_WHOLE)
        return is_spelling(request->squeezed, squeezed) ? COMPARED_SAME : COMPARED_OTHER;
    size_t seen = strlen(squeezed), wanted = strlen(request->squeezed);
    return seen <= wanted + sizeof "const&&" &&
                   strncmp(squeezed, request->squeezed, seen < wanted ? seen : wanted) == 0
               ? COMPARED_UNKNOWN
               : COMPARED_OTHER;
}

static enum likeness compare_mangled(const struct name_query *request, const char *symbol, size_t stem,
                                     enum likeness likeness)
{
    bool known = true;
    for (enum form form = FORM_PLAIN; form < FORMS; form++) {
        enum compared compared = names_compare_form(request, symbol, stem, form);
        if (compared == COMPARED_SAME)
            return likeness;
        known = known && compared != COMPARED_UNKNOWN;
    }
    return known || !may_be_named(request, symbol) ? UNLIKE : likeness;
}

enum likeness name_compare(const struct name_query *request, const char *symbol)
{
    enum likeness likeness = LIKE_SAME;
    if (strncmp(symbol, request->text, request->length) == 0 && symbol[request->length] == '\0')
        return LIKE_SAME;
    bool mangled = is_cxx_or_rust(symbol);
    if (!mangled && is_in_other_words(request, symbol))
        return LIKE_SAME;
    if (mangled ? request->word[0] != '\0' && strstr(symbol, request->word) == NULL
                : strncmp(symbol, request->text, request->base) != 0)
        return UNLIKE;
    size_t length = strlen(symbol), stem = strip_suffixes(symbol, length, &likeness);
    if (request->suffix[0] != '\0') {
        if (strcmp(symbol + stem, request->suffix) != 0)
            return UNLIKE;
        likeness = LIKE_SAME;
    }
    if (stem == request->base && strncmp(symbol, request->text, stem) == 0)
        return likeness;
    return mangled ? compare_mangled(request, symbol, stem, likeness) : UNLIKE;
}

/* Names of C may begin with _R, too; those of Rust are long. */
static bool is_surely_mangled(const char *symbol)
{
    return is_cxx_or_rust(symbol) && (symbol[1] == 'Z' || strlen(symbol) > 64);
}

static bool name_as(enum form form, char *out, size_t room, const char *symbol)
{
    static const char anonymous[] = "(anonymous namespace)::";
    enum likeness likeness = LIKE_SAME;
    char name[READ_ROOM + 64] = "";
    size_t length = strlen(symbol), stem = strip_suffixes(symbol, length, &likeness);
    if (decode_d(symbol, name, DEMANGLED_ROOM) || decode_fortran(symbol, name, DEMANGLED_ROOM)) {
        name_copy(out, room, name, strlen(name));
        return strlen(name) < room;
    }
    enum spelt spelt = length - stem < 64 ? demangle(symbol, stem, form, name, READ_ROOM) : SPELT_NOT;
    if (spelt == SPELT_NOT) {
        name_copy(out, room, symbol, length);
        return length < room && !is_surely_mangled(symbol);
    }
    for (char *at; (at = strstr(name, anonymous)) != NULL;)
        memmove(at, at + strlen(anonymous), strlen(at + strlen(anonymous)) + 1);
    snprintf(name + strlen(name), sizeof name - strlen(name), "%s", symbol + stem);
    name_copy(out, room, name, strlen(name));
    return spelt == SPELT_WHOLE && strlen(name) < room;
}

bool name_plain(char *out, size_t room, const char *symbol)
{
    return name_as(FORM_PLAIN, out, room, symbol);
}

bool name_signature(char *out, size_t room, const char *symbol)
{
    return name_as(FORM_SIGNATURE, out, room, symbol);
}
