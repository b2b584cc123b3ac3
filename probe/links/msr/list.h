/*
 * Lists of steps on MSRs: cut into batches of plain accesses, which a carrier takes to where the registers
 * are.
 */
#pragma once

#include "links/link.h"

#include <stddef.h>
#include <stdint.h>

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

/* One after the other up to the first that fails; *done are. DONE, TARGET_FAULT, or LINK_LOST with `error`.
 */
struct msr_carrier_ops {
    enum why (*run)(struct msr_link *, const struct msr_op *ops, size_t n, uint64_t *results, size_t *done,
                    struct error *error);
    void (*close)(struct msr_link *);
};

/* Makes it a link; the rest is filled in already. */
void msr_link_init(struct msr_link *link, const struct msr_carrier_ops *carrier);

struct link *msr_files_open(const char *root, int cpu, struct error *error); /* cpu -1: all */
struct link *msr_agent_open(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error);
