/*
 * Demangling, by libiberty: the name of a symbol in the source, for C++ and both manglings of Rust; by rules
 * of our own for D and Fortran, and Ada's where they are typed. It also
 * knows what compilers append to names: to copies that they specialised (.isra.0, .constprop.0), to parts
 * that they moved out (.part.0, .cold; of coroutines .actor, .resume), and to functions that they only
 * renamed (.lto_priv.0, .llvm.1).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { DEMANGLED_ROOM = 2048 };

/* Copies the name of a symbol as people write it, without its parameters: ns::class::function. */
void name_plain(char *out, size_t room, const char *symbol);
/* With the parameters, if there are any: ns::class::function(int) const. */
void name_signature(char *out, size_t room, const char *symbol);

bool name_is_mangled(const char *symbol);

/* How a symbol matches the wanted name; the higher, the better. */
enum likeness {
    UNLIKE,
    LIKE_PART, /* a part of the function, which the compiler moved out */
    LIKE_COPY, /* a copy of the function, specialised for some calls */
    LIKE_SAME, /* the function itself, perhaps renamed by the linker */
};

struct name_query {
    const char *text; /* the caller's */
    size_t length;
    size_t base;        /* the length without the suffix */
    const char *suffix; /* appended by a compiler; "" if none */
    char suffix_text[64];
    char squeezed[DEMANGLED_ROOM]; /* the base in its one canonical spelling */
    char word[64];                 /* part of every mangled symbol that can match; "": unknown */
};

void name_query_init(struct name_query *request, const char *text, size_t length);
/* The query may be mangled, or as in the source, with or without parameters. */
enum likeness name_compare(const struct name_query *request, const char *symbol);
