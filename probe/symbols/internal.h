/* SPDX-License-Identifier: MIT */
/*
 * Inside symbols/: the open file, and what its parts ask of each other. Symbol table and DWARF are read when
 * they are first needed. If the file contradicts itself, less is known, but there is never an error in the
 * middle: only opening can fail.
 */
#pragma once

#include "symbols/listing.h"
#include "symbols/symbols.h"

#include <elfutils/libdw.h>
#include <gelf.h>

struct symbol {
    uint64_t address; /* Thumb bit cleared */
    const char *name;
    const char *file; /* of a local symbol, by the symbol table; may be NULL */
    uint64_t size;
    uint64_t limit; /* the end of its section */
    unsigned char type, bind;
    bool thumb;
    bool only_dwarf; /* the symbol table lacks it */
};

/* A mapping symbol $a, $t, $d or $x: the kind of the bytes from here on. */
struct mark {
    uint64_t address, limit;
    char kind;
};

struct table {
    bool loaded;
    bool no_memory;                              /* it is empty for that reason */
    struct symbol *functions, *labels, *objects; /* functions and labels by address, the best name first */
    size_t function_count, label_count, object_count;
    size_t function_room, added_count; /* those that DWARF adds follow the others until all are sorted */
    struct mark *marks;                /* by address */
    size_t mark_count;
    const char **names; /* of functions and labels, sorted; NULL: not needed yet */
};

/* From `low` to before `high`. */
struct range {
    uint64_t low, high, reach; /* reach: the highest `high` up to this one */
    size_t unit;               /* its index; of a line: the file's */
    uint64_t what;             /* the DIE that has the range; the line */
};

/* By `low`. They may overlap. */
struct ranges {
    struct range *at;
    size_t n, room;
};

/* A compilation unit, and the offset of its line table. */
struct unit {
    Dwarf_Die die;
    uint64_t lines;
    bool has_lines;
    bool has_ranges; /* these three are scopes.c's */
    bool functions_known;
    struct ranges functions;
};

/* Calls at which functions are inlined, by the function's DIE. */
struct inline_calls {
    bool known;
    struct inline_call {
        uint64_t origin, low, line;
        const char *file, *outer; /* the function that calls it; either may be NULL */
    } * at;
    size_t n, room;
};

struct debug_section {
    const uint8_t *bytes;
    size_t size;
};

struct symbols {
    char file[96]; /* base name, for messages */
    uint8_t *image, *debug_image;
    Elf *elf, *debug; /* debug: of the separate file with names and lines; else the same */
    unsigned machine;
    bool is_movable;    /* ET_DYN */
    bool has_libraries; /* what it runs is in other files, too: longjmp, unwinders and threads may be */
    bool has_code;      /* what is in memory; a file of names and lines alone has none */
    uint64_t moved;     /* see symbols_move */
    uint64_t entry;
    bool big_endian;      /* the file, and what it has as data */
    bool big_endian_code; /* not in BE8, where data alone is */

    struct extent *sections; /* by section index; empty if it is not loaded */
    size_t section_count;
    struct extent *code; /* where instructions can be: sorted, merged */
    size_t code_count;
    bool is_overlaid;      /* several sections have code at one address */
    char profile;          /* of Arm: see struct symbols_machine */
    unsigned architecture; /* of Arm: the same */
    char build_id[2 * 64 + 1];

    struct table table;
    bool leave_known, may_leave; /* see symbols_may_leave, which searches once */
    struct jumps {
        bool known;
        uint64_t *items; /* where jumps lead, sorted */
        size_t n, room;
    } jumps;
    struct extents_kept {
        bool known;
        struct extent *items; /* owned */
        size_t n;
    } pointed, handlers; /* see pointed_find, find_handlers */
    struct stacks_kept {
        bool known;
        size_t n; /* may exceed the room */
        struct code_at_place at[16];
    } stacks; /* see symbols_stacks */
    struct own_calls {
        struct own_call {
            uint64_t target;
            bool is_jump;
        } * items;
        size_t n, room;
    } own_calls; /* see is_own_jump */
    struct exclusives {
        bool known;
        struct held_function {
            struct extent extent;
            bool is_own;      /* it has an exclusive access itself */
            bool opens, asks; /* it returns after a load-exclusive; begins with a store-exclusive */
            bool open_entry, ahead_exit; /* it is called after such a load; returns before such a store */
            struct held around;          /* so: of its caller */
        } * items;
        size_t n, room;
        struct held_place {
            uint64_t low;
            size_t which;
        } * places; /* of the items, by address; as many */
        size_t place_room;
        struct held_code *kept; /* exclusives.c's: of the function that was asked for last */
    } exclusives;

    bool dwarf_loaded;
    Dwarf *dwarf;
    struct unit *units; /* by the offset of their line tables */
    size_t unit_count;
    bool unit_ranges_known, functions_known;
    struct ranges unit_ranges, functions; /* of all units */
    struct inline_calls inline_calls;
    struct bases_kept *bases;  /* bases.c's */
    struct line_memory *lines; /* lines.c's: of the unit that was asked for last */
    struct debug_section line, line_str, str;
};

/* --- line_program.c: integers and strings of ELF and DWARF
 * ---------------------------------------------------- */

/* Reads bytes that may be damaged. Past the end everything is 0 or "" and `bad` is set, so a reader may check
 * once for many fields. */
struct cursor {
    const uint8_t *at, *end;
    bool big_endian;
    bool bad;
};

uint64_t cursor_unsigned(struct cursor *cursor, size_t width); /* width: 1 to 8 bytes */
uint64_t cursor_uleb(struct cursor *cursor);
int64_t cursor_sleb(struct cursor *cursor);
const char *cursor_string(struct cursor *cursor);
/* The next `size` bytes as their own cursor; `cursor` moves past them. */
struct cursor cursor_part(struct cursor *cursor, uint64_t size);
bool cursor_more(const struct cursor *cursor);

/* --- names.c: names of the source ------------------------------------------------------------------- */

/*
 * Demangling, by libiberty: the name of a symbol in the source, for C++ and both manglings of Rust; by rules
 * of our own for D and Fortran, and Ada's where they are typed. It also
 * knows what compilers append to names: to copies that they specialised (.isra.0, .constprop.0), to parts
 * that they moved out (.part.0, .cold; of coroutines .actor, .resume), and to functions that they only
 * renamed (.lto_priv.0, .llvm.1).
 */
enum { DEMANGLED_ROOM = 2048 };

/* Copies the name of a symbol as people write it, without its parameters: ns::class::function. False: `out`
 * has only its beginning, or the symbol, as its mangling cannot be read. */
bool name_plain(char *out, size_t room, const char *symbol);
/* With the parameters, if there are any: ns::class::function(int) const. */
bool name_signature(char *out, size_t room, const char *symbol);
/* Removes .lto_priv.0, .isra.1 and the like: the next build may give that number to another function. */
void name_cut_number(char *name);

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
/* The query may be mangled, or as in the source, with or without parameters. A symbol that cannot be read and
 * may have the name is like it: the name is ambiguous then. */
enum likeness name_compare(const struct name_query *request, const char *symbol);

/* --- elf.c: sections and segments ---------------------------------------------------------------------- */

/* Where a place of the file is in memory, and back. */
uint64_t elf_moved(const struct symbols *symbols, uint64_t linked);
uint64_t elf_linked(const struct symbols *symbols, uint64_t address);
/* gelf_getshdr, with the address at which the section is in memory. */
bool elf_section_header(const struct symbols *symbols, Elf_Scn *section, GElf_Shdr *out);
/* The code from `address` on, in the file; NULL, and *n 0, if there is none. */
const uint8_t *elf_code(const struct symbols *symbols, uint64_t address, size_t *n);
/* The next section whose bytes are in memory and in the file; NULL: there is no more. */
Elf_Scn *elf_next_bytes(const struct symbols *symbols, Elf_Scn *section, uint64_t *base,
                        const uint8_t **bytes, size_t *n);
struct debug_section elf_section(Elf *elf, const char *name);

const char *debug_file_name(Elf *elf); /* by its .gnu_debuglink; NULL: it has none */

/* --- table.c: the symbol table ------------------------------------------------------------------------- */

const struct table *table_get(struct symbols *symbols);
/* The function that contains `address`, of several the one that begins last; outside all functions, the label
 * before it; else NULL. */
const struct symbol *table_around(struct symbols *symbols, uint64_t address, struct extent *extent);
/* Where the next function after `address` begins; `high` if that is not before it. */
uint64_t table_next_function(struct symbols *symbols, uint64_t address, uint64_t high);
/* Whether no other function or label has this name, alone or followed by a dot, as the compiler's copies
 * have. False if that is not known. */
bool table_is_alone(struct symbols *symbols, const char *name);
enum instruction_set table_isa(struct symbols *symbols, uint64_t address);
bool table_is_data(struct symbols *symbols, uint64_t address); /* constants among the code */
/* Up to where both are the same, as far as mapping symbols say; `address` if they do not. */
uint64_t table_same_until(struct symbols *symbols, uint64_t address);
/* The mapping symbol before the address, and up to where it holds. False: there is none. */
bool table_marked(struct symbols *symbols, uint64_t address, struct extent *out);
bool symbol_is_function(const struct symbol *symbol);
/* The end of the function around the address that has a size; `address` if there is none. */
uint64_t table_sized_until(struct symbols *symbols, uint64_t address);
/* For functions_complete. */
bool table_give_size(struct table *table, uint64_t address, uint64_t size); /* true: there is one */
void table_add_function(struct symbols *symbols, struct table *table, const struct symbol *function);
bool table_is_object(const struct symbols *symbols, const struct symbol *symbol);
/*
 * Whether a DWARF range or row sequence that begins here describes code of this program. Linkers leave the
 * DWARF of functions that they dropped in place, at address 0 (GNU) or all ones (LLVM), and flash at 0 is
 * common.
 */
bool table_is_kept(struct symbols *symbols, uint64_t begin);

/* --- code.c: instructions ------------------------------------------------------------------------------ */

/* Over all code, or over [low, high). */
struct code_walk {
    struct symbols *symbols;
    uint64_t low, high;
    Elf_Scn *section;
    uint64_t base;
    const uint8_t *bytes;
    size_t n, first, at;
    uint64_t same_until; /* isa and is_data hold up to there */
    enum instruction_set isa;
    bool is_data;
    bool is_raw; /* each BL is a call */
};

/* Of two halfwords the first one is the upper. */
struct code_instruction {
    uint64_t address;
    enum instruction_set isa;
    unsigned size;
    uint32_t code, next; /* itself, and the next one */
    bool is_data;        /* by the mapping symbols; then `code` is 0 */
    bool is_first;       /* this walk has none before it */
    bool is_own_jump;    /* a BL, but a jump */
};

/* False: there is no more. */
bool code_next(struct code_walk *walk, struct code_instruction *out);
/* The instruction at the beginning of `bytes`; 0 if there is none. */
uint32_t code_at(const struct symbols *symbols, const uint8_t *bytes, size_t n, bool thumb, unsigned *size);
uint16_t code_halfword(const struct symbols *symbols, const uint8_t *bytes);
int code_compare_targets(const void *one, const void *other); /* of two uint64_t, as qsort has it */
/* What it does; data does nothing. */
struct instruction code_decode(const struct code_instruction *instruction);

/* --- leads.c: where code can go on ---------------------------------------------------------------------- */

/* Numbers that the code has given registers, in the order of the code. */
struct named {
    uint64_t value[32];
    uint32_t known; /* as bits */
};
/* Follows one instruction. True: it gives a register the number *made. */
bool named_follow(struct named *named, struct symbols *symbols, const struct code_instruction *one,
                  const struct instruction *does, uint64_t *made);

/* Where a jump goes whose address is a constant, or made of constants: a linker's veneer. */
bool code_reads_target(struct symbols *symbols, const struct code_instruction *one,
                       const struct instruction *does, uint64_t *target);

/* An instruction, and where it leads apart from the next one. What follows the last one is one more jump. */
struct lead {
    enum lead_kind {
        LEAD_ON, /* nowhere else, or by a table to places of the function */
        LEAD_CALL,
        LEAD_CALL_BY,
        LEAD_JUMP,     /* to `target`, also by a veneer */
        LEAD_ANYWHERE, /* where a register says */
        LEAD_BACK,
    } kind;
    uint64_t at, target;
    struct instruction does;
    bool is_data;
};
struct leads {
    struct symbols *symbols;
    struct code_walk walk;
    struct extent function; /* around the first instruction */
    bool ends_in_callee;    /* a call at the very end leads to the callee, and not to what follows */
    struct named named;     /* the rest is leads.c's */
    uint32_t inside, popped;
    struct lead last; /* apart from padding */
    uint64_t unpadded, furthest;
    bool goes_on, has_code, has_ended;
    unsigned in_block;
};
/* Whether a BL at the address is a jump: to a place of the same function, not its entry, from where no way
 * returns to LR. GCC and clang make far jumps of Thumb-1 so, as B leads 2 KB away at most: DDI 0419 A6.7.10.
 */
bool is_own_jump(struct symbols *symbols, uint64_t address, uint64_t target);
struct leads leads_of(struct symbols *symbols, const struct extent *range);
bool leads_next(struct leads *leads, struct lead *out);
/* Where the function's last instruction goes on after its end; 0: it does not. */
uint64_t leads_past_end(struct symbols *symbols, const struct extent *function);
/* Whether a call there may return: not if the code from there on always goes in circles, or ends at traps or
 * by such a call. */
bool may_return(struct symbols *symbols, uint64_t callee);
/* Whether it saves LR on the stack. */
bool saves_return(const struct code_instruction *one, const struct instruction *does);

/* --- code.c */

/* DDI 0406C B9.3: ERET, LDM (exception return), RFE, SUBS PC, LR; MOVS PC, LR. DDI 0487 C6.2: ERET. */
bool code_returns_from_exception(const struct code_instruction *one);

/* Whether `here` gives the stack pointer a new value, other than to make or end a frame. */
struct stack_code {
    uint32_t before, here, next;
};
/* `foreign`: frame pointers that this function has not made of the stack pointer. */
bool stack_is_set(enum instruction_set isa, const struct stack_code *code, uint32_t foreign);

/* --- depths.c ------------------------------------------------------------------------------------------- */

/* Where the function returns to that is entered there, by all that its code does with the stack. */
enum returns {
    RETURNS_SOMEWHERE,
    RETURNS_TO_LR,    /* whatever LR is */
    RETURNS_ELSEWHERE /* by a frame that it has not made, on some way */
};
enum returns symbols_returns(struct symbols *symbols, uint64_t entry);
/* Whether a handler of a Cortex-M may change what its exception has stacked, as the PC: it stores there, or
 * gives a pointer to there away. */
bool handlers_redirect(struct symbols *symbols);

/* One less the other; INT_MIN: no stack is so large. */
int depth_less(int depth, int32_t by);
/* Bytes on the stack after an instruction, with `depth` before it; INT_MIN: that is not known. */
int depth_after(const struct code_instruction *one, const struct instruction *does, int depth);

/* --- bases.c: frames, by all instructions of a function --------------------------------------------- */

enum base_found {
    BASE_FOUND,     /* register plus offset is what SP was at the function's entry */
    BASE_SUPPOSED,  /* so, if a jump by a table or the unwinder leads there: with CFI that says the same */
    BASE_NOT_FOUND, /* the instructions do not show it */
    BASE_UNREAD     /* there is no instruction of a function */
};
enum base_found bases_at(struct symbols *symbols, uint64_t address, struct frame_base *out);
/* Whether they give the rule's register, SP or the frame pointer, the same distance. */
bool bases_confirm(struct symbols *symbols, uint64_t address, const struct frame_base *rule);
void bases_close(struct symbols *symbols);

/* --- exclusives.c */

void exclusives_close(struct symbols *symbols);

/* --- code.c: who calls whom, by the instructions ------------------------------------------------------ */

/* The call that returns to the address, which has no Thumb bit. False: there is none. */
bool call_before(struct symbols *symbols, uint64_t address, enum instruction_set isa,
                 struct instruction *out);
/* Whether any call or jump of the program goes to the address by a number. */
bool call_is_made(struct symbols *symbols, uint64_t address);
/* Whether that call can have led into the function around `pc`: it goes there, or into one that jumps on. */
bool call_leads(struct symbols *symbols, const struct instruction *call, uint64_t pc);

/* --- frames.c: frames, by the instructions that make and end them ---------------------------------- */

/* What one instruction does to the stack and to registers that lead to the caller. */
struct frame_op {
    enum {
        FRAME_OTHER,  /* nothing */
        FRAME_PUSH,   /* `list`, the lowest register at the lowest address */
        FRAME_POP,    /* `list`; with the PC in it: and returns */
        FRAME_ADD,    /* `to` = `from` + `number` */
        FRAME_RETURN, /* to the address in `from` */
        FRAME_JUMP,   /* goes on elsewhere, whatever the flags */
        FRAME_BRANCH, /* or may do so, or calls */
        FRAME_LOST,   /* the stack pointer is no longer known */
    } kind;
    uint32_t list;
    unsigned to, from;
    int32_t number;
};
struct frame_op frame_op_of(enum instruction_set isa, uint32_t code);

/* The ops from `pc` on until the function's return; returns their number, 0 if that end is not found. */
size_t frame_ending(struct symbols *symbols, uint64_t pc, struct frame_op *out, size_t room);

/* Where a function without call frame information has its caller's registers. */
struct frame_layout {
    uint32_t size;   /* of the frame in bytes: what it is below the caller's stack pointer */
    uint32_t saved;  /* a bit for each register */
    uint32_t at[16]; /* of those: this number of bytes below the caller's stack pointer */
};
/* False: the code from the function's first instruction to `pc` does not show it. */
bool frame_layout_of(struct symbols *symbols, uint64_t pc, struct frame_layout *out);

/* --- frames.c: frames, by call frame information --------------------------------------------------- */

struct frame_rules;

/* What the rules are applied to, and what they need. */
struct frame_state {
    const uint64_t *value;
    uint64_t known;
    bool (*word)(void *context, uint64_t address, uint64_t *out);
    void *context;
    bool knows_base; /* by the instructions: the frame's address is `base`, whatever the rules say */
    uint64_t base;
};
enum frame_found { FRAME_FOUND, FRAME_NO_RULES, FRAME_NO_VALUE, FRAME_OUTERMOST };

/* The row for a place in memory, which the caller frees; NULL: there is none, or `cfi` is NULL. */
Dwarf_Frame *frame_row(const struct symbols *symbols, Dwarf_CFI *cfi, uint64_t place);
struct frame_rules *frame_rules_open(struct symbols *symbols); /* NULL: no memory */
void frame_rules_close(struct frame_rules *rules);
/*
 * The caller's registers, by the rules for `place`: those in `known` are found, and the stack pointer is the
 * frame's address. The return address is in *back.
 */
enum frame_found frame_rules_apply(struct frame_rules *rules, uint64_t place, const struct frame_state *state,
                                   uint64_t *value, uint64_t *known, uint64_t *back);

/* --- stores.c: stores of a Cortex-M's code, and the constants by which they are found ------------------- */

/* The registers whose values are constants, in the first round of a loop. Forward jumps are followed. What
 * has a condition leaves what it writes unknown. */
enum { LANDINGS = 24 };
struct constants {
    struct constants_known {
        uint32_t values[16];
        uint32_t known; /* as bits */
    } now;
    bool passed;       /* the instruction before does not lead here */
    unsigned in_block; /* instructions that have the condition of an IT, yet */
    struct landing {
        uint64_t at;
        struct constants_known known;
    } landings[LANDINGS];
    size_t n;
};

/* True also for no register. */
static inline bool constants_know(const struct constants_known *constants, unsigned which)
{
    return which == NO_REGISTER || (constants->known & 1U << which) != 0;
}
/* The constants as they are when the instruction at `at` begins, which other ways may lead to. */
void constants_arrive(struct constants *constants, uint64_t at);
/* As they are after it, if it has a condition that holds. */
struct constants_known constants_taken(const struct constants *constants, struct symbols *symbols,
                                       const struct code_instruction *one, const struct instruction *does);
/* Follows one instruction, in the order of the code, and what it does. True: it stores to the word. */
bool constants_follow(struct constants *constants, struct symbols *symbols,
                      const struct code_instruction *one, const struct instruction *does, uint64_t word);

/* --- origins.c: what the base of a store may be ---------------------------------------------------
 */

/* Words of the file, also of constants among the code, that are addresses in the private region. */
struct pointers {
    struct pointer {
        uint32_t at, value;
    } * items;
    size_t n, room;
};
void pointers_find(struct pointers *pointers, struct symbols *symbols);
void pointers_close(struct pointers *pointers);
/* The next one after `after` that the load may take, by the constants before it; NULL: there is no more. */
const struct pointer *pointers_loaded(const struct pointers *pointers, const struct pointer *after,
                                      const struct instruction *load, const struct constants_known *before);

enum { ORIGINS_SPILLS = 16 };
/* Of one function, which is followed when it is first asked for. */
struct origins {
    struct symbols *symbols;
    const struct pointers *pointers;
    uint64_t low, high;
    bool followed;
    uint32_t *states; /* before the instruction at each halfword; NULL: no memory */
    uint32_t ever;    /* all that there is in any of them */
    struct spill {
        unsigned base;
        int32_t offset;
    } spills[ORIGINS_SPILLS];
    size_t n_spills; /* more than the room: anywhere on the stack */
};
void origins_begin(struct origins *origins, struct symbols *symbols, const struct pointers *pointers,
                   uint64_t low, uint64_t high);
/* False: before the instruction at `address` the register surely has an argument or the stack pointer, or
 * what was loaded from memory. */
bool origins_may_be_constant(struct origins *origins, uint64_t address, unsigned base);
void origins_close(struct origins *origins);

/* --- line_program.c: a unit's line table ---------------------------------------------------------------- */

/*
 * A unit's line table, DWARF 2 to 5, run by a reader of our own. libdw has one, but it sorts the rows of all
 * sequences of a unit by address: then the rows of functions that the linker dropped, which stay in the table
 * at address 0, are mixed with the rows of the code that is at 0, as it often is on microcontrollers.
 */
struct line_row {
    uint64_t address;
    uint64_t file; /* for line_program_path */
    uint64_t line; /* 0: the compiler's own */
    bool is_statement;
    bool begins_sequence; /* a new run of rising addresses, independent of the rows before */
    bool ends_sequence;   /* the address after the last instruction, without code */
};

struct line_file {
    const char *name;
    uint64_t directory;
};

struct line_program {
    const struct symbols *symbols;
    struct cursor rest;
    unsigned version;
    size_t offset_size;
    uint8_t step, line_range, opcode_base;
    int8_t line_base;
    bool starts_as_statement;
    const uint8_t *operand_counts;
    struct debug_section line_str, str;

    const char **directories;
    size_t directory_count, directory_room;
    struct line_file *files;
    size_t file_count, file_room;

    struct line_row row;
    bool in_sequence;
};

/* False if the table is cut short or its version unknown. The caller closes it in either case. */
bool line_program_open(struct line_program *program, struct symbols *symbols, uint64_t offset);
void line_program_close(struct line_program *program);
/* The next row; false at the end of the table, or if the table makes no sense from here on. */
bool line_program_next(struct line_program *program, struct line_row *row);
/* The base name of a row's file; NULL if it has none. */
const char *line_program_file(const struct line_program *program, uint64_t file);
/* The whole path of a row's file, as far as it is known; false: it has no file. */
bool line_program_path(const struct line_program *program, const char *unit_directory, uint64_t file,
                       char *out, size_t room);

/* --- lines.c: the DWARF line tables -------------------------------------------------------------------- */

bool lines_load(struct symbols *symbols); /* true: there are line tables */
void lines_close(struct symbols *symbols);
/* "fir.c:42" or "" */
void lines_source(struct symbols *symbols, uint64_t address, char *out, size_t room);

/* The line of each two bytes of a piece of code, as lines_source has it. */
enum { LINE_MAP_FILES = 4096 };
#define LINE_MAP_NO_FILE UINT32_MAX

struct line_map {
    struct line_slot {
        uint32_t file; /* index into `files` */
        uint32_t line; /* 0: unknown */
    } * slots;
    size_t n;
    char **files; /* whole paths, as far as they are known */
    size_t file_count;
};

/* The code is in [low, high), which is below 4 GiB long. False: out of memory, and `out` is empty. */
bool lines_map(struct symbols *symbols, uint64_t low, uint64_t high, struct line_map *out);
void line_map_free(struct line_map *map);

/* All addresses that the line tables give for a line of a file, which is named by the end of its path. */
enum { LINE_HITS = 256 };

struct line_hits {
    struct line_hit {
        uint64_t address;
        bool is_statement; /* the compiler recommends it for breakpoints */
        bool is_empty;     /* without an instruction: the next row has the same address */
    } at[LINE_HITS];
    size_t count;
    bool has_more;       /* than fit here */
    bool knows_file;     /* some unit was compiled from it */
    uint64_t next, last; /* the next line of the file that has code, and the last one; 0: none */
};

void line_search(struct symbols *symbols, const char *path, size_t length, uint64_t line,
                 struct line_hits *hits);
/* Offers all file names of the line tables. */
void line_search_near(struct symbols *symbols, struct near *near);

/* --- scopes.c: which unit and function of DWARF an address belongs to -------------------------------- */

bool ranges_add(struct ranges *ranges, const struct range *range); /* false: no memory */
void ranges_sort(struct ranges *ranges);                           /* after the last one was added */
const struct range *ranges_find(const struct ranges *ranges, uint64_t address); /* the one that begins last */

/* The units that may have lines for an address, the likeliest first. */
struct unit_search {
    struct symbols *symbols;
    uint64_t address;
    unsigned stage; /* these are scopes.c's */
    size_t i;
};
bool units_next(struct unit_search *search, struct unit **unit);

/* Gives the symbol table the functions and sizes that only DWARF has. */
void functions_complete(struct symbols *symbols, struct table *table);
void functions_close(struct symbols *symbols);

/* --- scopes.c: the DWARF functions --------------------------------------------------------------------- */

/* The next sibling; false at the end, and if the file leads back, which libdw would follow for ever. */
bool die_next(Dwarf_Die *die);
bool die_number(Dwarf_Die *die, unsigned attribute, uint64_t *out); /* false: it has none */
/* dwarf_ranges and dwarf_entrypc, with addresses in memory. */
ptrdiff_t die_ranges(const struct symbols *symbols, Dwarf_Die *die, ptrdiff_t offset, Dwarf_Addr *base,
                     struct extent *out);
bool die_entry(const struct symbols *symbols, Dwarf_Die *die, uint64_t *out);

/* An instance of a function, which inlining hides from the symbol table. */
struct scope {
    uint64_t key;      /* the same for two addresses of one instance; 0 if unknown */
    const char *name;  /* may be NULL */
    const char *outer; /* if it is inlined: the function around it; else NULL */
    bool owns_line;    /* the line is written in this function */
};
/* The instance around the address whose function contains the line of the file; if none does, the innermost.
 */
struct scope scopes_find(struct symbols *symbols, uint64_t address, const char *file, uint64_t line);

/* What DWARF says of the function around an address; NULL and 0 if it says nothing. */
struct function_facts {
    const char *file; /* where it is written, with its path */
    int line;
    const char *unit; /* the file that was compiled */
    bool never_returns;
    uint64_t entry; /* UINT64_MAX: it has none */
};
struct function_facts scopes_function(struct symbols *symbols, uint64_t address);

/* "function", or "file.c:function". */
struct qualified_name {
    const char *file; /* the end of a path; may be empty */
    size_t file_length;
    const char *name;
    size_t length;
};
/* True if the function is inlined at each of its calls; the error says where. */
bool inlined_refuse(struct symbols *symbols, const struct qualified_name *wanted, struct error *error);
