/* SPDX-License-Identifier: MIT */
/*
 * Model-specific registers of x86 processors as a link: of this machine through its msr driver, or of another
 * machine through the agent of target-stub/knc. A view is a CPU; its unit is the number that system gives it.
 */
#pragma once

#include "base/deadline.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a register is refused. */
#define MSR_ADVICE "Only a Knights Corner card has the counters of msr: and msr-agent:."

/* "msr..." or "msr-agent..." */
bool msr_spec_is(const char *probe);
/*
 * "msr[:CPU][@DIR]": one CPU or all; DIR replaces the root of the file system. "msr-agent:HOST[:PORT]"
 */
struct link *msr_connect(const char *probe, const struct deadline *deadline, struct error *error);

/* A list of steps is cut into batches of plain accesses, which a carrier takes to the registers. */
enum { MSR_CPUS = 256, MSR_BATCH = 64 };
enum { MSR_AGENT_PORT = 2001 };

enum msr_op_kind { MSR_READ, MSR_WRITE, MSR_TIME };

struct msr_op {
    enum msr_op_kind kind;
    uint16_t cpu;
    uint32_t number;
    uint64_t value;
};

struct msr_link {
    struct link link; /* first */
    const struct msr_carrier_ops *carrier;
    char name[160];
    struct msr_cpu {
        uint16_t number, core;
    } cpus[MSR_CPUS]; /* in the order of their numbers */
    size_t n_cpus;
};

/* Accesses in order up to the first that fails; *done counts them. DONE, TARGET_FAULT or LINK_LOST. */
struct msr_carrier_ops {
    enum why (*run)(struct msr_link *, const struct msr_op *ops, size_t n, uint64_t *results, size_t *done,
                    struct error *error);
    void (*close)(struct msr_link *);
};

/* Sets the operations; the caller fills in the rest first. */
void msr_link_init(struct msr_link *link, const struct msr_carrier_ops *carrier);

/*
 * Messages between this link and the agent on a card; pure. All numbers are little-endian.
 *
 *     greeting   "PMR1"  u16 CPUs  u16 busy            then for each CPU: u16 number, u16 core
 *     request    "PMRq"  u16 accesses  u16 serial      each: u8 kind, u8 0, u16 CPU, u32 MSR, u64 value
 *     reply      "PMRa"  u16 done  u8 why  u8 serial   each that is done: u64 value
 */
enum { FRAME_HEADER = 8, FRAME_CPU = 4, FRAME_OP = 16, FRAME_VALUE = 8 };
enum { FRAME_REQUEST = FRAME_HEADER + MSR_BATCH * FRAME_OP };

enum frame_why { FRAME_DONE, FRAME_REFUSED, FRAME_FAULT, FRAME_NONSENSE };

/* False: not sent by an agent. */
bool frame_greeting(const uint8_t *header, size_t *n_cpus, bool *busy);
bool frame_cpus(const uint8_t *bytes, size_t n, struct msr_cpu *out); /* rising, each once */
bool frame_reply(const uint8_t *header, size_t asked, unsigned serial, size_t *done, enum frame_why *why);
void frame_values(const uint8_t *bytes, size_t n, uint64_t *out);
