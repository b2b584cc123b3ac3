// The command line.
#ifndef BOARD_OPTIONS_H
#define BOARD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "chip/chip.h"
#include "cpu/halt_cost.h"

struct options {
    const struct chip *chip;
    const char *firmware;
    uint16_t jtag, control, dap_tcp;
    const char *jtag_socket;        // a path, NULL for none
    uint16_t dap_packet, dap_count; // bytes, packets at once
    unsigned dap_quirks;
    bool dap_timer, dap_atomic, dap_exact, dap_naps;
    const char *dap_serial;
    const char *dap_firmware; // a shared object, NULL for none
    uint32_t dap_latency;     // microseconds, over TCP
    uint32_t dap_wire;        // Hz that the probe's wires have whatever is requested; 0: as requested
    const char *usb;          // a directory, NULL for no USB
    bool usb_v1, usb_v2;
    uint32_t usb_latency; // microseconds
    uint16_t usb_vendor, usb_product, usb_release;
    const char *usb_name, *usb_interface; // product's string; that of the bulk interface
    uint8_t usb_class;                    // of the bulk interface
    uint16_t usb_endpoint;                // bytes of its endpoints' packets, 0: as the speed has it
    uint32_t clock, idle_clock;           // 0: it is never idle
    uint64_t seed;
    struct halt_cost halt_cost;
    bool has_skid; // of stops by counters; else as the core has it
    uint32_t stop_skid;
    uint32_t sample_skid;
    bool no_catch_up;       // after halts
    const char *core_state; // that all cores begin in, NULL for none
    bool no_rom_table;      // the access ports know of none
    unsigned port_quirks;   // of debug ports and access ports
    bool jtag_protocol_1;   // of the JTAG-DP, as CoreSight SoC-600 has it
    uint32_t jtag_idcode;   // of the CMSIS-DAP probe's JTAG port; 0: the chip's
    struct trace_quirks trace_quirks;
    uint32_t itm_fifo;   // bytes
    unsigned dap_swo;    // what the probe's trace input can do, 0: it has none
    uint32_t swo_buffer; // bytes
    bool die_with_parent, verbose;
};

// false: the reason was printed to stderr
bool options_parse(struct options *, int argc, char **argv);

#endif
