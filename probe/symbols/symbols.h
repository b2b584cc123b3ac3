/*
 * Symbols: what an ELF file says about the program on the target. Locations (a symbol, file.c:symbol,
 * file.c:42, *0x10000200) become addresses; addresses become words for people. Built on elfutils.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

enum instruction_set { ISA_THUMB, ISA_ARM, ISA_A64, ISA_OTHER };

struct location {
    uint64_t address;         /* Thumb bit cleared */
    uint64_t low, high;       /* the function around it, [low, high); both 0 if unknown */
    enum instruction_set isa; /* by mapping symbols, else the symbol's Thumb bit, else the machine */
    bool is_function_entry;   /* `address` is where a function of the symbol table begins */
    bool never_returns;       /* that function, as its source declares it (DW_AT_noreturn) */
    char name[128];           /* "fir_filter", "fir_filter+0x10", "0x10000200" */
    char source[256];         /* "fir.c:42", empty if unknown */
    char note[160];           /* what a name leaves out: copies that the compiler made of the function */
};

/* NULL and `error` on failure. Any length and offset in the file is checked before it is used. */
struct symbols *symbols_open(const char *path, struct error *error);
struct symbols *symbols_open_memory(const void *bytes, size_t size, struct error *error); /* copies */
void symbols_close(struct symbols *symbols); /* NULL is allowed */

/*
 * Finds what `text` names: function, ns::Class::method(int), file.c:function, each with +0x10 behind it,
 * file.c:42, *0x10000200. One address: true. Several (static functions of one name, overloads, inlining, a
 * line with several statements): false, ERROR_AMBIGUOUS, with each of them listed in the error's text as a
 * location that is accepted. None: false, ERROR_SYMBOL with near names, or where the function is inlined.
 * `symbols` may be NULL: then only *0x... can be found, and anything else says that --elf is missing.
 * Addresses given as *0x... are looked up for names when symbols are there.
 */
bool symbols_locate(struct symbols *symbols, const char *text, struct location *out, struct error *error);
/*
 * Fills all of `out` for any address; never fails ("0x10000200" when nothing is known). A Thumb bit, as
 * return addresses have it, is cleared. `symbols` may be NULL.
 */
void symbols_describe(struct symbols *symbols, uint64_t address, struct location *out);

/* The i-th function's name, as in the source and without parameters; false: there are no more. */
bool symbols_function_name(struct symbols *symbols, size_t i, char *out, size_t room);

/* The address and size in bytes of the data object of this name; false if none, or several static ones. */
bool symbols_object(struct symbols *symbols, const char *name, uint64_t *address, uint64_t *size);
enum object_found { OBJECT_NONE, OBJECT_ONE, OBJECT_SEVERAL };
enum object_found symbols_find_object(struct symbols *symbols, const char *name, uint64_t *address,
                                      uint64_t *size);

/* Which processors the code is for. */
struct symbols_machine {
    unsigned number;       /* e_machine */
    char profile;          /* of Arm: 'A', 'R' or 'M'; 0: the file does not say */
    unsigned architecture; /* of Arm: Tag_CPU_arch of its build attributes; 0: the file does not say */
    char name[24];         /* "Armv7E-M", "AArch64", "x86-64" */
};
void symbols_machine(const struct symbols *symbols, struct symbols_machine *out);

/*
 * Whether there is code outside the start-up that gives the stack pointer a value of its own, as longjmp,
 * exceptions and task switches do: then a function may be left without returning. True where nothing is
 * known.
 */
bool symbols_may_leave(struct symbols *symbols);
/* Whether a call can return there: it is not the last thing in its function, as calls of functions that never
 * return are. */
bool symbols_is_return(struct symbols *symbols, uint64_t address);

/* An instruction that writes a register of an A or R core's performance monitor. */
struct counter_write {
    uint64_t address;
    char name[16]; /* "PMCR" */
    unsigned rank;
};
/*
 * How many there are, which may be more than `room`: those that can change the counter of cycles at once come
 * first, and before them those of the register `named`, which may be NULL.
 */
size_t symbols_counter_writes(struct symbols *symbols, const char *named, struct counter_write *out,
                              size_t room);
/* Stores of a Cortex-M's code to a word, by constants: how many, which may be more than `room`. */
size_t symbols_stores_to(struct symbols *symbols, uint64_t word, uint64_t *out, size_t room);
/*
 * Of a Cortex-M that has stopped a few instructions behind a store to `word`, with its registers R0 to R15:
 * which store that was, as far as the code and the registers tell.
 */
bool symbols_store_before(struct symbols *symbols, const uint32_t *registers, uint64_t word, uint64_t *at);

/* An instruction by which the exception handler at `entry`, of a Cortex-M, returns: see struct exit_place. */
struct handler_exit {
    uint64_t at;
    unsigned popped;
    bool conditional;
};
/* How many there are, which may be more than `room`; those without a condition come first. 0: not known. */
size_t symbols_exits(struct symbols *symbols, uint64_t entry, struct handler_exit *out, size_t room);

/* A frame is known by a register and a number that is added to it. */
struct frame_base {
    unsigned number; /* of a general register */
    bool is_sp;
    int64_t offset;
};
enum frames {
    FRAMES_OF_TWO,   /* the two addresses are not known to be in one function */
    FRAMES_ONE_ONLY, /* there can be no two frames of it at a time: it calls nothing, and nobody switches
                        stacks */
    FRAMES_UNKNOWN,  /* there is no call frame information about it */
    FRAMES_KNOWN,
};
/* Whether `end` is in the function of `start`, and by what its frame is known at both. */
enum frames symbols_frames(struct symbols *symbols, uint64_t start, uint64_t end, struct frame_base *at_start,
                           struct frame_base *at_end);

struct segment {
    uint64_t address; /* where it is loaded (p_paddr) and run: only segments where both are equal */
    size_t size;
    const uint8_t *bytes; /* owned by `symbols` */
};
/*
 * Read-only code and constants that must be in the target's memory as they are in the file: whole read-only
 * segments, and of writable ones the sections that are not. At most `room` of them; returns how many.
 */
size_t symbols_segments(struct symbols *symbols, struct segment *out, size_t room);
/* Sections of code, at the addresses at which it runs: a program that copies it there itself, too. */
size_t symbols_code(struct symbols *symbols, struct segment *out, size_t room);
/* It is linked to be loaded anywhere: a position independent executable, or a shared library. */
bool symbols_is_movable(const struct symbols *symbols);
/* Hex digits of the build id, or of nothing: "" when the file has none. */
const char *symbols_build_id(struct symbols *symbols);
/* The note that holds it, where it is in the target's memory; false: it is not there. */
bool symbols_build_note(struct symbols *symbols, struct segment *out);
