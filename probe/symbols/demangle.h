/*
 * Demangling: what a symbol is called in the source, in C++ and in both manglings of Rust, by libiberty.
 * Apart from that, what compilers append to names: to those of copies that they specialised (.isra.0,
 * .constprop.0), of parts that they moved away (.part.0, .cold), and of functions that they only renamed
 * (.lto_priv.0, .llvm.1).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { DEMANGLED_ROOM = 2048 };

/* Copies the name of a symbol as people write it, without its parameters: ns::class::function. */
void name_plain(char *out, size_t room, const char *symbol);
/* With the parameters: ns::class::function(int) const. The same as name_plain where there are none. */
void name_signature(char *out, size_t room, const char *symbol);

bool name_is_mangled(const char *symbol);

/* What a symbol is to a name that somebody asks for; the higher, the better. */
enum likeness {
    UNLIKE,
    LIKE_PART, /* a part of that function, which the compiler moved away */
    LIKE_COPY, /* a copy of it that the compiler specialised for some calls */
    LIKE_SAME, /* the function itself, whatever the linker renamed it to */
};

struct name_query {
    const char *text; /* the caller's */
    size_t length;
    size_t base;        /* the length without what compilers append */
    const char *suffix; /* that; "" if nothing */
    char suffix_text[64];
    char squeezed[DEMANGLED_ROOM]; /* the base, without what may be written in several ways */
    char word[64];                 /* stands in every mangled symbol that can be meant; "": any can be */
};

void name_query_init(struct name_query *request, const char *text, size_t length);
/* Mangled, or as in the source, with or without parameters. */
enum likeness name_compare(const struct name_query *request, const char *symbol);
