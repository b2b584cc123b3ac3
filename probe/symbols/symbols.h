/* SPDX-License-Identifier: MIT */
/*
 * Symbols: the ELF file of the program on the target. Turns locations (a symbol, file.c:symbol, file.c:42,
 * *0x10000200) into addresses and addresses into text. Built on elfutils.
 */
#pragma once

#include "base/error.h"
#include "code/instruction.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

/* Room for the names of C++ and Rust, which take a page in the source. */
enum { LOCATION_NAME = 1024 };

/* From `low` to before `high`. */
struct extent {
    uint64_t low, high;
};

struct location {
    uint64_t address;         /* Thumb bit cleared */
    uint64_t low, high;       /* the function around it, [low, high); both 0 if unknown */
    uint64_t next;            /* the next one after `address` that begins within it; `high` if none does */
    enum instruction_set isa; /* by mapping symbols, else the symbol's Thumb bit, else the machine */
    bool is_function_entry;   /* `address` is where a function of the symbol table begins */
    bool never_returns;       /* that function, as its source declares it (DW_AT_noreturn) */
    char name[LOCATION_NAME]; /* "fir_filter", "fir_filter+0x10", "0x10000200" */
    char source[256];         /* "fir.c:42", empty if unknown */
    char note[160]; /* what its name does not mean: the compiler's copies; what else it means: aliases */
};

/* NULL and `error` on failure. Any length and offset in the file is checked before it is used. */
struct symbols *symbols_open(const char *path, struct error *error);
/* The same; then symbols_move. */
struct symbols *symbols_open_moved(const char *path, uint64_t by, struct error *error);
struct symbols *symbols_open_memory(const void *bytes, size_t size, struct error *error); /* copies */
void symbols_close(struct symbols *symbols); /* NULL is allowed */
/* Before anything is asked: the program runs so far above the addresses of its file, modulo 2^32 or 2^64.
 * From here on all addresses are those in memory. */
void symbols_move(struct symbols *symbols, uint64_t by);

/*
 * Finds what `text` names: function, ns::Class::method(int), file.c:function, each of these followed by
 * +0x10, file.c:42, *0x10000200. One address: true. Several (static functions of one name, overloads,
 * inlining, a line with several statements): false, ERROR_AMBIGUOUS, and the error's text lists each of them
 * as a location that is accepted. None: false, ERROR_SYMBOL with near names, or with the callers that inline
 * the function. If `symbols` is NULL only *0x... can be found, and the error says that --elf is missing.
 */
bool symbols_locate(struct symbols *symbols, const char *text, struct location *out, struct error *error);
/*
 * Fills all of `out` for any address; the name is "0x10000200" if nothing is known. Clears a Thumb bit, as
 * return addresses have it. `symbols` may be NULL.
 */
void symbols_describe(struct symbols *symbols, uint64_t address, struct location *out);
/* The whole path of the file that location.source names, as far as the ELF has it; "": unknown. */
void symbols_file(struct symbols *symbols, uint64_t address, char *out, size_t room);

/* A function whose code is part of another one's. */
struct inlined_frame {
    char name[LOCATION_NAME]; /* as in the source, without parameters */
    char called[256];         /* where the frame around it calls it: "fir.c:42", empty if unknown */
};
/* The inlined functions around an address, the innermost first; the function with the code is not among them.
 * Returns their number, at most `room`: the outer ones are left out. */
size_t symbols_inlined(struct symbols *symbols, uint64_t address, struct inlined_frame *out, size_t room);

/* Other calls of the function at `entry`, at which it is inlined: "partial.c:6 (fast_path), ...". Returns
 * their number. */
size_t symbols_inline_calls(struct symbols *symbols, uint64_t entry, char *out, size_t room);
/* Whether functions and types are in other files (-gsplit-dwarf), which are not read: then it is not known
 * what is inlined. */
bool symbols_is_split(struct symbols *symbols);

/* Of the i-th function: its name, as in the source and without parameters. */
enum function_name {
    FUNCTION_NONE, /* there are no more */
    FUNCTION_NAMED,
    FUNCTION_UNREAD, /* `out` has the beginning of its name, or its symbol, as the mangling cannot be read */
};
enum function_name symbols_function_name(struct symbols *symbols, size_t i, char *out, size_t room);
/* The i-th function's entry; functions are in the order of their addresses, several names of one follow each
 * other. Its name is a location that finds it alone, or "*0x10000200". */
bool symbols_function(struct symbols *symbols, size_t i, struct location *out);

/* The address and size in bytes of the data object of this name; false if none, or several static ones. */
bool symbols_object(struct symbols *symbols, const char *name, uint64_t *address, uint64_t *size);
/* The end of the data object around an address, or of its section, if the program does not write there; 0:
 * it may, or the ELF does not show it. */
uint64_t symbols_constant_until(struct symbols *symbols, uint64_t address);
/* "object" or "object+0x10", of the one around an address; false: there is none. */
bool symbols_describe_object(struct symbols *symbols, uint64_t address, char *out, size_t size);
enum object_found { OBJECT_NONE, OBJECT_ONE, OBJECT_SEVERAL };
enum object_found symbols_find_object(struct symbols *symbols, const char *name, uint64_t *address,
                                      uint64_t *size);

/* A member of a structure. */
struct symbols_member {
    uint64_t offset, size; /* bytes */
    bool is_pointer;
};
/* By the DWARF types; false if the program lacks that structure or member. */
bool symbols_member(struct symbols *symbols, const char *structure, const char *member,
                    struct symbols_member *out);

/* Which processors the code is for. */
struct symbols_machine {
    unsigned number;       /* e_machine */
    char profile;          /* of Arm: 'A', 'R' or 'M'; 0: the file does not say */
    unsigned architecture; /* of Arm: Tag_CPU_arch of its build attributes; 0: the file does not say */
    char name[24];         /* "Armv7E-M", "AArch64", "x86-64" */
    bool big_endian_words; /* of memory, as BE32 has them: the file has each with its first byte on top */
};
void symbols_machine(const struct symbols *symbols, struct symbols_machine *out);

/*
 * Whether code outside the start-up sets the stack pointer, as longjmp, exceptions and task switches do, or a
 * handler of a Cortex-M may set the PC to which it returns: then a function may be left without a return.
 * True if nothing is known.
 */
bool symbols_may_leave(struct symbols *symbols);
struct code_at_place {
    uint64_t address;
    enum instruction_set isa;
};
/* The instructions by which it does so, without those that write MSP or PSP: a handler switches tasks by
 * these. Returns their number, which may exceed `room`; SIZE_MAX: libraries may have some. */
size_t symbols_stacks(struct symbols *symbols, struct code_at_place *out, size_t room);
/* The instructions by which a function that is called leaves with less on the stack than it found, as one
 * that returns for its caller: at most `room` of Thumb code. */
size_t symbols_takers(struct symbols *symbols, uint64_t *out, size_t room);
/* Whether a call can return to the address. A call at the very end of a function never returns. */
bool symbols_is_return(struct symbols *symbols, uint64_t address);
/* Where the code of a function ends: its size says so or, in assembly without one, where nothing of it goes
 * on.
 */
uint64_t symbols_own_end(struct symbols *symbols, const struct extent *function);
/* What a function's entry shows with that return address in LR. */
enum symbols_entry {
    ENTRY_RETURNS, /* the function returns there, whatever address it is */
    ENTRY_CALLED,  /* a call before the address may have led here; or it is not known */
    ENTRY_OPEN,    /* so, but the caller jumps here, too */
    ENTRY_JUMPED,  /* the call before the address leads elsewhere */
    ENTRY_TAKES    /* the function returns elsewhere, by a frame that it has not made */
};
enum symbols_entry symbols_entry(struct symbols *symbols, uint64_t function, uint64_t back);
/* Whether a jump leads to the address, or may. */
bool symbols_is_joined(struct symbols *symbols, uint64_t address);
/* Whether the function jumps to its own entry, also by way of other functions that it jumps to. */
bool symbols_jumps_to(struct symbols *symbols, const struct extent *function);
/* Whether all that calls the function has one stack, and so what runs inside is below what it interrupted. */
bool symbols_has_one_stack(struct symbols *symbols, uint64_t function);
/* Whether a call of the function may run in another one, apart from exception handlers and other stacks. */
bool symbols_nests(struct symbols *symbols, const struct extent *function);
/* Whether other functions jump into the middle of this one. */
bool symbols_is_entered(struct symbols *symbols, const struct extent *function);
/* The places of the function to which code outside jumps, as a part of it that the compiler moved away does.
 * Returns their number, at most `room`; more: room + 1. */
size_t symbols_joins(struct symbols *symbols, const struct extent *function, uint64_t *out, size_t room);
/* Whether the function at `entry` is left by ERET, before which it has no RET; *at: the ERET. */
bool symbols_ends_by_eret(struct symbols *symbols, uint64_t entry, uint64_t *at);
/* Whether an exception handler may run the function around an address. */
bool symbols_handlers_reach(struct symbols *symbols, uint64_t address);
/* The same; a Cortex-M's handlers are among the functions whose address the program has somewhere. */
bool symbols_pointers_reach(struct symbols *symbols, uint64_t address);
/* Whether another function that this one runs may call it. */
bool symbols_recurs(struct symbols *symbols, const struct extent *function);
/* Whether the function at `entry`, or one that it jumps on to, may return elsewhere than LR says. */
bool symbols_skips(struct symbols *symbols, uint64_t entry);
/* Where the code goes that leaves the place `start`, until it reaches `end`. */
struct symbols_ways {
    bool again;  /* it may reach `start` once more before `end` */
    bool ends;   /* it may reach `end` */
    bool leaves; /* it may leave the function, or it is not known where it goes */
    bool calls;
    struct extent code; /* from the first to the last of the function's instructions that it may pass */
};
struct symbols_ways symbols_ways(struct symbols *symbols, uint64_t start, uint64_t end);

/* The instructions that call the function's entry by a number, or jump there from other functions. Returns
 * their number, which may exceed `room`. */
size_t symbols_callers(struct symbols *symbols, const struct extent *function, uint64_t *out, size_t room);

/* An instruction that writes a register of an A or R core's performance monitor. */
struct counter_write {
    uint64_t address;
    char name[16]; /* "PMCR" */
    unsigned rank;
};
/*
 * Returns the number of writes, which may exceed `room`. Writes to the register `named`, which may be NULL,
 * are first, then those that change the cycle counter at once.
 */
size_t symbols_counter_writes(struct symbols *symbols, const char *named, struct counter_write *out,
                              size_t room);
enum { COUNTER_CHANGES = 64 };

/* A register of a counter: a Cortex-M's word, or the name of an A or R core's. symbols_find_switches finds
 * what the program's code does with it. */
struct counter_switch {
    uint64_t word;
    const char *name;                  /* NULL: `word` */
    uint32_t bits;                     /* that start the counter */
    uint32_t on, strikes;              /* as in struct counter_register */
    bool each;                         /* each write changes the count */
    bool is_set;                       /* there is code that may set one of `bits` */
    uint64_t changes[COUNTER_CHANGES]; /* instructions that change the count, or may */
    size_t n_changes;                  /* may exceed the room */
};
void symbols_find_switches(struct symbols *symbols, struct counter_switch *switches, size_t n);

/* Whether an instruction at one of `places` lies in one of these ranges, or in what they call, as far as
 * calls and jumps say where they go. A range without `high` is the function around `low`. */
bool symbols_reach(struct symbols *symbols, const struct extent *ranges, size_t n_ranges,
                   const uint64_t *places, size_t n_places, size_t *place);
/* Whether a call or jump in what it runs goes where a register says, or where the ELF shows no code. */
bool symbols_reach_is_open(struct symbols *symbols, const struct extent *range);
/* Whether what they run may change PRIMASK to FAULTMASK or the stack, as where tasks are switched, or is
 * open; *at: the instruction. */
bool symbols_reach_may_mask(struct symbols *symbols, const struct extent *ranges, size_t n, uint64_t *at);
/* What is added to a word of `size` bytes: `by`, which the word at by_word has, or, if that is 0, a constant.
 */
struct symbols_addend {
    uint64_t word, by, by_word;
    uint32_t size;
};
/* Whether a call of a Cortex-M's function adds it by the store at `place`, which is the only one that it
 * reaches: each call once, some of them once, or none. */
enum symbols_adds { ADDS_UNSURE, ADDS_NOT, ADDS_SOMETIMES, ADDS_ONCE };
enum symbols_adds symbols_adds(struct symbols *symbols, uint64_t function, uint64_t place,
                               const struct symbols_addend *addend);
enum { SYMBOLS_STOPS = 8 };
/* Where to stop so that none of `places` is executed unseen: at those that are reached, if they are at most
 * `room` (at most SYMBOLS_STOPS), else at those instructions of the ranges themselves that are one of them or
 * lead to one. Returns how many; more than `room`: neither fits. */
size_t symbols_stops_before(struct symbols *symbols, const struct extent *ranges, size_t n_ranges,
                            const uint64_t *places, size_t n_places, uint64_t *out, size_t room);
/* False: no store of Thumb code is at this place. */
bool symbols_store_at(struct symbols *symbols, uint64_t at, struct instruction *out);
/* A Cortex-M's stores to a word, as far as constants show them. Returns their number, which may exceed
 * `room`. */
size_t symbols_stores_to(struct symbols *symbols, uint64_t word, uint64_t *out, size_t room);
/* A Cortex-M's loads of a word, as far as constants show them. Returns their number, which may exceed
 * `room`. */
size_t symbols_loads_of(struct symbols *symbols, uint64_t word, uint64_t *out, size_t room);
/* A loop of a Cortex-M's program that goes on until others show something: hardware, an interrupt, a core. */
struct symbols_wait {
    uint64_t at, word; /* the load, and its address; 0: it is not known */
};
/* *out: all of them, which the caller frees. False: no memory. */
bool symbols_waits(struct symbols *symbols, struct symbols_wait **out, size_t *n);
/* The instructions, at most, that a function of a Cortex-M runs with what it calls, and the registers that
 * they load and store. UINT64_MAX: not known, as with a loop. */
uint64_t symbols_longest(struct symbols *symbols, uint64_t function);
/* Whether a call of it may return. */
bool symbols_may_return(struct symbols *symbols, uint64_t function);
/* The WFI and WFE of the program. Returns their number, which may exceed `room`. */
size_t symbols_sleeps(struct symbols *symbols, uint64_t *out, size_t room);
/* Whether [low, high) has one, or the instruction after one. */
bool symbols_may_sleep(struct symbols *symbols, uint64_t low, uint64_t high);
/*
 * Whether the instruction is in the block of an IT, whose address is in *it. Cores differ in whether they
 * stop at one whose condition fails.
 */
bool symbols_it_of(struct symbols *symbols, uint64_t address, uint64_t *it);

/* A load-exclusive and its store-exclusive, or the calls that lead there; 0: it is not known. */
struct held {
    uint64_t load, store, after; /* after: what follows the store */
};
/* Whether the place is after such a load and not after its store: a stop there may make the store fail. */
bool symbols_held(struct symbols *symbols, uint64_t address, struct held *out);
/* The same of the place after the instruction there. */
bool symbols_held_after(struct symbols *symbols, uint64_t address, struct held *out);
/* Whether the function returns to such a place. */
bool symbols_return_held(struct symbols *symbols, uint64_t function, struct held *out);

/* An instruction that may return from a Cortex-M's exception handler. */
struct handler_exit {
    uint64_t at;
    unsigned popped; /* words that it takes off the stack */
    uint8_t by;      /* the register that says where it goes; NO_REGISTER: the stack does */
    bool conditional;
};
/* Those of the handler at `entry` and of the functions that it ends in, unconditional ones first: whether one
 * of them returns from the handler shows when it is reached. Returns their number, which may exceed `room`.
 * *all: those in `out` and what their registers say are all ways out of it. */
size_t symbols_exits(struct symbols *symbols, uint64_t entry, struct handler_exit *out, size_t room,
                     bool *all);

/* The address of a frame: a register plus an offset. */
struct frame_base {
    unsigned number; /* of a general register */
    bool is_sp;
    int64_t offset;
};
enum frames {
    FRAMES_OF_TWO,    /* the two addresses are not known to be in one function */
    FRAMES_ONE_ONLY,  /* no second frame at a time, apart from handlers': it calls nothing, and no code
                         switches stacks; and where its frame is is not known */
    FRAMES_UNKNOWN,   /* there is no call frame information, or the code does not confirm it */
    FRAMES_KNOWN_ONE, /* as the first, but the frame is known */
    FRAMES_KNOWN,
};
/* *out: the function around the address; around a part of one that the compiler moved away, such as f.cold,
 * that function. It stays as it is if none is known. */
void symbols_whole(struct symbols *symbols, uint64_t address, struct extent *out);
/* Whether `end` is in the function of `start`, or in a part of it that lies elsewhere; and the address of its
 * frame at both. */
enum frames symbols_frames(struct symbols *symbols, uint64_t start, uint64_t end, struct frame_base *at_start,
                           struct frame_base *at_end);

/* What helps a program without line tables; NULL: it has some. */
const char *symbols_lines_advice(struct symbols *symbols);

struct segment {
    uint64_t address; /* where it is loaded */
    size_t size;
    const uint8_t *bytes; /* owned by `symbols` */
    uint64_t apart;       /* it runs at `address` less this, modulo 2^64 */
};
/*
 * Code and constants that must be the same in the target's memory and in the file: whole read-only segments,
 * and the read-only sections of writable ones, if they run where they are loaded (p_paddr equal to p_vaddr).
 * Returns how many, at most `room`.
 */
size_t symbols_segments(struct symbols *symbols, struct segment *out, size_t room);
/* The code that is loaded and not in these: what the program copies to where it runs, and functions among
 * variables. */
size_t symbols_copied(struct symbols *symbols, struct segment *out, size_t room);
/* Sections of code, at the addresses where they run, even if the program itself copies them there. */
size_t symbols_code(struct symbols *symbols, struct segment *out, size_t room);
/*
 * What an address holds, by the mapping symbols: $t, $a and $x begin code, $d begins data. A variable's
 * symbol outweighs them, as not every tool marks variables.
 */
enum mapping {
    MAPPING_NONE, /* no symbol has it */
    MAPPING_CODE,
    MAPPING_DATA,
};
enum mapping symbols_mapping(struct symbols *symbols, uint64_t address);
/*
 * Whether an instruction begins at an address: by the mapping symbols, else by decoding from the function's
 * entry on.
 */
enum code_place {
    PLACE_UNKNOWN, /* nothing shows it */
    PLACE_BEGINS,
    PLACE_DATA,   /* a constant, a table, a variable */
    PLACE_INSIDE, /* the instruction around it begins at *begins */
};
enum code_place symbols_code_place(struct symbols *symbols, uint64_t address, uint64_t *begins);
/* Whether an instruction has part of this word, which the file has at an address. */
bool symbols_is_instruction(struct symbols *symbols, uint64_t address, uint32_t word);
/* The only place of the code that has the bytes which memory has from `address` on, a multiple of 4; a word
 * may be an address that was moved as the code was. False: there is none, or several. */
bool symbols_find_moved(struct symbols *symbols, uint64_t address, const uint8_t *bytes, size_t n,
                        uint64_t *linked);
/* Whether an instruction can be there, by the sections. */
bool symbols_is_code(const struct symbols *symbols, uint64_t address);
/* Whether several sections have code there, as overlays do, of which the target holds one at a time. Their
 * names go to `out`: ".ovl_a, .ovl_b". */
bool symbols_overlay(struct symbols *symbols, uint64_t address, char *out, size_t size);
/* False: a separate file of names and lines, whose program is another file. */
bool symbols_has_code(const struct symbols *symbols);
/* A position independent executable or a shared library. */
bool symbols_is_movable(const struct symbols *symbols);
/* The build id in hex digits; "" if the file has none. */
const char *symbols_build_id(struct symbols *symbols);
/* Of all that is loaded, and where: with the same hash, the same code is at an address. 0: no section says
 * it. */
uint64_t symbols_hash(const struct symbols *symbols);
/* The build id's note in the target's memory; false if it is not loaded. */
bool symbols_build_note(struct symbols *symbols, struct segment *out);

/*
 * Names: makes the names in a file printable, and suggests near names for a misspelt one.
 */

/* Copies the whole characters that fit; control characters and broken UTF-8 become '?'. */
void name_copy(char *out, size_t room, const char *text, size_t length);
const char *name_of_file(const char *path); /* after the last / or \ */
/* Whether `tail` is the last parts of `path`. */
bool path_ends_with(const char *path, const char *tail, size_t length);

/* The best five of the names that are offered. Whole names only: each can be typed. */
enum { NEAR_NAMES = 5, NEAR_LENGTH = 64, NEAR_NAME = 512, NEAR_TEXT = 700 };

struct near {
    char wanted[NEAR_LENGTH];
    size_t length;
    size_t count;
    struct near_name {
        unsigned score;
        char name[NEAR_NAME];
    } best[NEAR_NAMES];
};

void near_init(struct near *near, const char *wanted, size_t length);
void near_offer(struct near *near, const char *name);
/* "; did you mean a, b?", or "" if no name is near. */
const char *near_text(const struct near *near, char *out, size_t room);
