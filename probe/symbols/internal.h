/*
 * Inside of symbols/: the open file, and what its parts ask of each other. elf.c opens the file and
 * knows sections and segments; table.c the symbol table; lines.c the DWARF line tables; scopes.c the
 * DWARF functions; inlined.c those that are only inlined; locate.c turns text into addresses and addresses
 * into text. Symbol table and DWARF are read when they are first asked for. Wherever the file contradicts
 * itself there is less to tell, never an error in the middle: only opening can fail.
 */
#pragma once

#include "symbols/demangle.h"
#include "symbols/names.h"
#include "symbols/symbols.h"

#include <elfutils/libdw.h>
#include <gelf.h>

struct extent {
    uint64_t low, high; /* [low, high) */
};

struct symbol {
    const char *name;
    const char *file; /* of a local symbol, by the symbol table; may be NULL */
    uint64_t address; /* Thumb bit cleared */
    uint64_t size;
    uint64_t limit; /* where its section ends */
    unsigned char type, bind;
    bool thumb;
};

/* $a, $t, $d, $x: what the bytes from here on are */
struct mark {
    uint64_t address, limit;
    char kind;
};

struct table {
    bool loaded;
    struct symbol *functions, *labels, *objects; /* functions and labels by address, the best name first */
    size_t function_count, label_count, object_count;
    struct mark *marks; /* by address */
    size_t mark_count;
};

/* A compilation unit, and where its line table is */
struct unit {
    Dwarf_Die die;
    uint64_t lines;
    bool has_lines;
};

struct debug_section {
    const uint8_t *bytes;
    size_t size;
};

struct symbols {
    char file[96]; /* base name, for messages */
    uint8_t *image;
    Elf *elf;
    unsigned machine;
    bool is_movable; /* ET_DYN */
    uint64_t entry;
    bool big_endian;

    struct extent *sections; /* by section index; empty where nothing is loaded */
    size_t section_count;
    struct extent *code; /* where instructions can be: sorted, merged */
    size_t code_count;
    bool is_m_profile;
    char profile; /* see struct symbols_machine */
    unsigned architecture;
    char build_id[2 * 64 + 1];

    struct table table;

    bool dwarf_loaded;
    Dwarf *dwarf;
    struct unit *units; /* by the offset of their line tables */
    size_t unit_count;
    struct debug_section line, line_str, str;
};

/* elf.c */
bool elf_is_code(const struct symbols *symbols, uint64_t address);
/* The code from `address` on, in the file; NULL, and *n 0, where there is none. */
const uint8_t *elf_code(const struct symbols *symbols, uint64_t address, size_t *n);
struct debug_section elf_section(struct symbols *symbols, const char *name);

/* stack.c: an instruction, the one before it and the one behind it; of two halfwords the first one is the
 * upper */
struct stack_code {
    uint32_t before, here, next;
};
bool stack_is_set(enum instruction_set isa, const struct stack_code *code);

/* table.c */
const struct table *table_get(struct symbols *symbols);
/* The function that has `address` in it; outside all functions, the label before it; else NULL */
const struct symbol *table_around(struct symbols *symbols, uint64_t address, struct extent *extent);
bool table_has_code_symbol(struct symbols *symbols, uint64_t address);
enum instruction_set table_isa(struct symbols *symbols, uint64_t address);
bool table_is_data(struct symbols *symbols, uint64_t address); /* constants among the code */
bool symbol_is_function(const struct symbol *symbol);
bool table_is_object(const struct symbols *symbols, const struct symbol *symbol);

/*
 * Whether a DWARF range or row sequence that begins here describes code of this program. Linkers leave the
 * DWARF of functions that they dropped in place, at address 0 (GNU) or all ones (LLVM), and flash at 0 is
 * common.
 */
bool table_is_kept(struct symbols *symbols, uint64_t begin);

/* lines.c */
bool lines_load(struct symbols *symbols); /* true: there are line tables */
/* "fir.c:42" or "" */
void lines_source(struct symbols *symbols, uint64_t address, char *out, size_t room);

/*
 * scopes.c: the instance of a function of the source that an instruction belongs to, which inlining hides
 * from the symbol table.
 */
struct scope {
    uint64_t key;      /* the same for two addresses of one instance; 0 if unknown */
    const char *name;  /* may be NULL */
    const char *outer; /* for an inlined one: the function that it is in; else NULL */
    bool owns_line;    /* the line that was asked for stands in this function */
};
bool scopes_unit_covers(struct symbols *symbols, struct unit *unit, uint64_t address, bool *has_ranges);
/*
 * Of all instances around the address, the one of the function that has this line of this file in it; where
 * none has, the innermost.
 */
struct scope scopes_find(struct symbols *symbols, uint64_t address, const char *file, uint64_t line);

/* What DWARF says of the function that has an address in it; NULL and 0 where it says nothing. */
struct function_facts {
    const char *file; /* where it is written, with its path */
    int line;
    const char *unit; /* the file that was compiled */
    bool never_returns;
};
struct function_facts scopes_function(struct symbols *symbols, uint64_t address);

/*
 * Attributes: the .ARM.attributes section, of which two facts matter here: for which version of the
 * architecture the code is, and for which profile. An M-profile core runs Thumb only, whatever symbols are
 * missing. Format: "Addenda to, and Errata in, the ABI for the Arm Architecture", build attributes.
 */
struct attributes {
    char profile;          /* Tag_CPU_arch_profile: 'A', 'R', 'M', 'S'; 0: not said */
    unsigned architecture; /* Tag_CPU_arch; 0: not said */
};

struct attributes attributes_read(struct debug_section section, bool big_endian);

/*
 * Line search: all addresses that the line tables give for a line of a file, which is named by the
 * end of its path.
 */
enum { LINE_HITS = 256 };

struct line_hits {
    struct line_hit {
        uint64_t address;
        bool is_statement; /* where the compiler would have a debugger stop */
        bool is_empty;     /* no instruction of its own: the next row has the same address */
    } at[LINE_HITS];
    size_t count;
    bool has_more;       /* than fit here */
    bool knows_file;     /* some unit was made from it */
    uint64_t next, last; /* the next line of the file that has code, and the last one; 0: none */
};

void line_search(struct symbols *symbols, const char *path, size_t length, uint64_t line,
                 struct line_hits *hits);
/* Offers all file names of the line tables. */
void line_search_near(struct symbols *symbols, struct near *near);

/* Places: the distinct addresses that one location may mean, and how they are told to the user. */
struct places {
    struct place {
        uint64_t address;
        const struct symbol *symbol; /* of a place that was found by its name */
        enum likeness likeness;
        struct scope scope;
        bool is_statement;
        bool has_code; /* of this line, not only a place for it */
    } at[LINE_HITS];   /* by address */
    size_t count;
    bool has_more; /* than fit here */
};

/* What a location names: "function", or "file.c:function". */
struct place_name {
    const char *file; /* the end of a path; may be empty */
    size_t file_length;
    const char *name;
    size_t length;
};

/*
 * All functions and labels in the code that can be meant; aliases of one address are one place. Copies that
 * the compiler made of a function, and parts that it moved out of it, stand in for it only where the function
 * itself is not there.
 */
void places_of_symbol(struct symbols *symbols, const struct place_name *wanted, struct places *places);
/* The copies and parts of the function at `address`, whose calls do not pass there: "f.part.0, f.isra.0", or
 * "". */
void places_beside(struct symbols *symbols, const struct place_name *wanted, uint64_t address, char *out,
                   size_t room);
/* One place for each instance of a function that has code of the line: where the line begins in it. */
void places_of_line(struct symbols *symbols, const struct line_hits *hits, const char *file, uint64_t line,
                    struct places *places);
/* ERROR_AMBIGUOUS, with every place as a location that is accepted: by a name where one tells it apart, which
 * the next build has as well. */
bool places_refuse(struct symbols *symbols, const struct places *places, const char *text, uint64_t offset,
                   struct error *error);

/* inlined.c: true where that is a function that was inlined wherever it is called; the error says where. */
bool inlined_refuse(struct symbols *symbols, const struct place_name *wanted, struct error *error);
