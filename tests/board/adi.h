// The debug port and its access ports as transactions with an acknowledge (IHI 0031, ADIv5; IHI 0074, ADIv6,
// whose access ports are in an address space: debug_space.h). It knows nothing of the wire: JTAG, SWD and
// CMSIS-DAP fronts drive it and do what each of them does about posted reads.
#ifndef BOARD_ADI_H
#define BOARD_ADI_H

#include <stdio.h>

#include "bus.h"

enum ack { ACK_OK, ACK_WAIT, ACK_FAULT };
enum wire { WIRE_JTAG, WIRE_SWD };

enum { ADI_APS = 4 };

struct mem_ap {
    struct bus *bus;
    uint32_t idr, base;
    uint32_t tar_wrap; // its auto-increment wraps within this many bytes, a power of two
    bool words_only;   // as APB is: no smaller transfer, no packed one
    bool no_cortex_m;  // it leads to no private peripheral bus: an access to one is an error
    uint32_t at;       // of its registers, ADIv6
    bool no_memory;    // it has an IDR, and is not a MEM-AP; it leads to no bus
    uint32_t csw, tar, tar_high;
    bool error; // TRR.ERR
};

// Trouble on order: after `skip` more AP accesses, `count` of them answer so, or find the system reset
struct adi_trouble {
    enum ack ack; // OK: they are answered, after a reset
    uint32_t skip, count;
};

// An address whose accesses do not end for `us`, or never. Meanwhile WAIT is the answer to all that would
// need the access port (IHI 0031 B4.2.4); an abort lets go of the port, but not of the bus of one that never
// ends.
struct adi_slow {
    uint32_t at, size; // of size 0: there is none
    uint64_t us;       // 0: never
    uint64_t ends_us;  // of the one under way; UINT64_MAX: it does not; 0: there is none
    bool hung;         // it was aborted, and goes on
    uint64_t aborts;   // that met one under way
};

// Oddities of chips
enum {
    ADI_NO_SYSTEM_POWER = 1 << 0, // CSYSPWRUPACK is never set
    ADI_ALIASED = 1 << 1,         // APSEL is decoded in part: the access ports repeat
    ADI_LARGE = 1 << 2,           // CFG.LA: TAR has an upper word, which is not zero
    ADI_CLOSED = 1 << 3,          // read-out protection: CSW.DeviceEn is 0, and each access to memory dies
    ADI_V6 = 1 << 4,              // ADIv6, which a chip may have by itself
    ADI_ALL_LOW = 1 << 5,         // ports of one line all answer until TARGETSEL; a 0 of one of them wins,
    ADI_ALL_HIGH = 1 << 6,        // or a 1
    ADI_ERRORS_KEPT = 1 << 7, // CFG.ERR: another debugger has left ERRNPASS and ERRSTOP set, after an error
    ADI_ERRORS_AWAITED = 1 << 8, // the same, and there was none yet
};
#define ADI_ERRORS (ADI_ERRORS_KEPT | ADI_ERRORS_AWAITED)

// Registers that no access port of silicon has (reserved, IHI 0031 C2.6): that this is a model, and its time
// in ns. A model's clock has a rate in that time only: a busy host makes it late. The third one has us, in
// which what the cores are halted counts as well
enum { AP_MODEL_CHIP_TIME = 0xE4, AP_MODEL = 0xE8, AP_MODEL_TIME = 0xEC, MODEL_NAME = 0x4C444F4D };

struct adi {
    enum wire wire;
    unsigned quirks;
    bool off; // no power: it does not answer on any wire
    uint32_t dpidr;
    uint32_t targetid; // with the instance in [31:28] what TARGETSEL takes; 0: a debug port without multidrop
    uint32_t instance;
    uint32_t control; // the writable bits of CTRL/STAT
    uint32_t dlcr;
    bool sticky_error;
    bool write_error; // WDATAERR: on SWD the data of a write had the wrong parity
    uint32_t select;
    uint32_t select1; // the upper word of addresses, ADIv6
    uint32_t rdbuff;  // the last AP read, for the wires that post reads
    struct mem_ap aps[ADI_APS];
    size_t ap_count;
    struct adi_trouble trouble;
    struct adi_slow slow;
    uint64_t strays;
    void (*reset_system)(void *);
    // The time that has passed for the cores, whatever the host's clock says; NULL: it is not shown
    uint64_t (*model_ns)(void *);
    uint64_t (*chip_ns)(void *); // the same, and what the cores were halted; where there is the one before
    void *system;
    uint64_t accesses; // to access ports
    FILE *trace;       // each transaction is printed there, NULL for none
};

// As it is after reset, whatever its CSW says. false: too many.
bool adi_add_ap(struct adi *, struct mem_ap);
// The address is A[3:2] of the transaction, as 0, 4, 8 or 12
enum ack adi_dp_read(struct adi *, unsigned address, uint32_t *value);
enum ack adi_dp_write(struct adi *, unsigned address, uint32_t value);
// ACK_WAIT: not accepted, ask again. A read gives its value at once; a front that posts reads keeps it.
enum ack adi_ap_read(struct adi *, unsigned address, uint32_t *value);
enum ack adi_ap_write(struct adi *, unsigned address, uint32_t value);
void adi_abort(struct adi *, uint32_t value);
// For wires whose acknowledge is before the data: whether the next AP access would be answered with WAIT.
// If so it counts as asked; if not, the access itself will not wait.
bool adi_ap_waits(struct adi *);
// Whether an access of before is still under way
bool adi_is_busy(struct adi *);
// false: there is no quirk of such a name. NAME,...
bool adi_parse_quirks(const char *, unsigned *quirks);
// What a line reset does: DLCR, and from DPv3 on DPBANKSEL (IHI 0074 B4.3.3)
void adi_line_reset(struct adi *);
// As power gives it: every register, but not the access ports' own numbers
void adi_power_on(struct adi *);

#endif
