#include "symbols/internal.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MANGLED_ROOM = 2048 };

/* --- what compilers append ----------------------------------------------------------------------------- */

static bool is_number(const char *text, size_t length)
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
        bool numbered = is_number(text + dot + 1, end - dot - 1);
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
    if (length >= sink->room - sink->used)
        longjmp(sink->full, 1);
    memcpy(sink->out + sink->used, text, length);
    sink->used += length;
    sink->out[sink->used] = '\0';
}

enum form { FORM_PLAIN, FORM_SIGNATURE, FORM_WITH_RETURN, FORM_WITH_HASH, FORMS };

static bool is_cxx_or_rust(const char *symbol)
{
    return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

/* The choice is the hash for names of Rust, the parameters for names of C++. */
static bool demangle(const char *mangled, enum form form, char *out, size_t room)
{
    static const int options[FORMS] = {
        [FORM_PLAIN] = DMGL_ANSI,
        [FORM_SIGNATURE] = DMGL_ANSI | DMGL_PARAMS | DMGL_RET_DROP,
        [FORM_WITH_RETURN] = DMGL_ANSI | DMGL_PARAMS,
        [FORM_WITH_HASH] = DMGL_VERBOSE,
    };
    struct sink sink = {.out = out, .room = room};
    out[0] = '\0';
    if (setjmp(sink.full) != 0)
        return false;
    if (rust_demangle_callback(mangled, form == FORM_WITH_HASH ? DMGL_VERBOSE : 0, demangle_take, &sink) != 0)
        return out[0] != '\0';
    sink.used = 0;
    out[0] = '\0';
    return form != FORM_WITH_HASH &&
           cplus_demangle_v3_callback(mangled, options[form], demangle_take, &sink) != 0 && out[0] != '\0';
}

/* --- D, Fortran, Ada ------------------------------------------------------------------------------------ */

/* By rules of our own: libiberty's functions end the process when memory is short. */

/* False: `out` is too small. */
static bool append(char *out, size_t room, const char *text, size_t length)
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
        for (; isdigit((unsigned char)*at) && length < MANGLED_ROOM; at++)
            length = 10 * length + (size_t)(*at - '0');
        bool is_template = strncmp(at, "__", 2) == 0;
        if (length == 0 || strnlen(at, length) < length || is_template ||
            (out[0] != '\0' && !append(out, room, ".", 1)) || !append(out, room, at, length))
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
    return name != NULL && name > symbol + 2 && append(out, room, symbol + 2, (size_t)(name - symbol) - 2) &&
           append(out, room, "::", 2) &&
           append(out, room, name + sizeof joint - 1, strlen(name + sizeof joint - 1));
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
        if (!append(out, room, at, (size_t)(end - at)))
            return false;
        if (is_number(end + 2, strlen(end + 2)))
            return true;
        if (!append(out, room, ".", 1))
            return false;
    }
    return append(out, room, at, strlen(at));
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

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80) != 0;
}

static size_t begins(const char *text, size_t length, const char *with)
{
    size_t n = strlen(with);
    return length >= n && memcmp(text, with, n) == 0 ? n : 0;
}

/* The number of bytes here that do not distinguish names. */
static size_t noise(const char *text, size_t length)
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

/* Keeps blanks only between two words. */
static void squeeze(char *out, size_t room, const char *text, size_t length)
{
    size_t used = 0;
    bool blank = false;
    for (size_t i = 0; i < length && used + 2 < room;) {
        size_t skip = noise(text + i, length - i);
        if (skip > 0 || isspace((unsigned char)text[i])) {
            blank = blank || skip == 0;
            i += skip > 0 ? skip : 1;
            continue;
        }
        if (blank && used > 0 && is_word(out[used - 1]) && is_word(text[i]))
            out[used++] = ' ';
        blank = false;
        out[used++] = text[i++];
    }
    out[used] = '\0';
}

/* Mangling spells "operator" and text in braces differently. */
static bool is_spelt_out(const char *text)
{
    return strstr(text, "operator") == NULL && strpbrk(text, "{[") == NULL;
}

/* The function's own name, without template arguments and parameters. */
static void find_word(const char *text, char *out, size_t room)
{
    size_t begin = 0, length = 0;
    int depth = 0;
    out[0] = '\0';
    for (size_t i = 0; text[i] != '\0' && is_spelt_out(text); i++) {
        if (text[i] == '(' && depth == 0 && length > 0)
            break;
        depth += text[i] == '<' || text[i] == '(' ? 1 : text[i] == '>' || text[i] == ')' ? -1 : 0;
        if (depth != 0 || !is_word(text[i]))
            continue;
        if (i == 0 || !is_word(text[i - 1]))
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
    squeeze(request->squeezed, sizeof request->squeezed, text, request->base);
    find_word(request->squeezed, request->word, sizeof request->word);
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

enum likeness name_compare(const struct name_query *request, const char *symbol)
{
    enum likeness likeness = LIKE_SAME;
    char base[MANGLED_ROOM], name[DEMANGLED_ROOM], squeezed[DEMANGLED_ROOM];
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
    if (!mangled || stem >= sizeof base)
        return UNLIKE;
    snprintf(base, sizeof base, "%.*s", (int)stem, symbol);
    for (enum form form = FORM_PLAIN; form < FORMS; form++) {
        if (!demangle(base, form, name, sizeof name))
            continue;
        squeeze(squeezed, sizeof squeezed, name, strlen(name));
        if (is_spelling(request->squeezed, squeezed))
            return likeness;
    }
    return UNLIKE;
}

static void name_as(enum form form, char *out, size_t room, const char *symbol)
{
    static const char anonymous[] = "(anonymous namespace)::";
    enum likeness likeness = LIKE_SAME;
    char base[MANGLED_ROOM], name[DEMANGLED_ROOM + 64];
    size_t length = strlen(symbol), stem = strip_suffixes(symbol, length, &likeness);
    bool shown = is_cxx_or_rust(symbol) && stem < sizeof base && length - stem < 64;
    if (decode_d(symbol, name, sizeof name) || decode_fortran(symbol, name, sizeof name)) {
        name_copy(out, room, name, strlen(name));
        return;
    }
    if (shown) {
        snprintf(base, sizeof base, "%.*s", (int)stem, symbol);
        shown = demangle(base, form, name, DEMANGLED_ROOM);
    }
    if (!shown) {
        name_copy(out, room, symbol, length);
        return;
    }
    for (char *at; (at = strstr(name, anonymous)) != NULL;)
        memmove(at, at + strlen(anonymous), strlen(at + strlen(anonymous)) + 1);
    snprintf(name + strlen(name), sizeof name - strlen(name), "%s", symbol + stem);
    name_copy(out, room, name, strlen(name));
}

void name_plain(char *out, size_t room, const char *symbol)
{
    name_as(FORM_PLAIN, out, room, symbol);
}

void name_signature(char *out, size_t room, const char *symbol)
{
    name_as(FORM_SIGNATURE, out, room, symbol);
}
