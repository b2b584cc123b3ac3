// Command line: see the header.
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/core.h"
#include "dap/processor.h"

enum {
    JTAG = 256,
    CONTROL,
    CHIP,
    FIRMWARE,
    CLOCK,
    IDLE_CLOCK,
    SEED,
    HALT_COST,
    HALT_IRQ,
    CORE_STATE,
    NO_ROM_TABLE,
    PORT_QUIRKS,
    STOP_SKID,
    SAMPLE_SKID,
    NO_CATCH_UP,
    JTAG_IDCODE,
    JTAG_PROTOCOL_1,
    DIE,
    VERBOSE,
    JTAG_SOCKET,
    DAP_TCP,
    DAP_PACKET,
    DAP_COUNT,
    DAP_TIMER,
    DAP_PLAIN,
    DAP_QUIRKS,
    DAP_SERIAL,
    DAP_FIRMWARE,
    DAP_LATENCY,
    DAP_WIRE,
    DAP_EXACT,
    DAP_NAPS,
    USB,
    USB_V1_ONLY,
    USB_V2_ONLY,
    USB_LATENCY,
    USB_ID,
    USB_NAME,
    USB_INTERFACE,
    USB_CLASS,
    USB_ENDPOINT,
    ITM_FIFO_BYTES,
    TRACE_QUIRK,
    DAP_SWO,
    SWO_BUFFER_BYTES,
};

static const struct option long_options[] = {
    {"chip", required_argument, NULL, CHIP},
    {"firmware", required_argument, NULL, FIRMWARE},
    {"jtag", required_argument, NULL, JTAG},
    {"jtag-socket", required_argument, NULL, JTAG_SOCKET},
    {"control", required_argument, NULL, CONTROL},
    {"clock", required_argument, NULL, CLOCK},
    {"idle-clock", required_argument, NULL, IDLE_CLOCK},
    {"seed", required_argument, NULL, SEED},
    {"halt-cost", required_argument, NULL, HALT_COST},
    {"halt-irq", required_argument, NULL, HALT_IRQ},
    {"core-state", required_argument, NULL, CORE_STATE},
    {"no-rom-table", no_argument, NULL, NO_ROM_TABLE},
    {"port-quirks", required_argument, NULL, PORT_QUIRKS},
    {"stop-skid", required_argument, NULL, STOP_SKID},
    {"sample-skid", required_argument, NULL, SAMPLE_SKID},
    {"no-catch-up", no_argument, NULL, NO_CATCH_UP},
    {"jtag-protocol-1", no_argument, NULL, JTAG_PROTOCOL_1},
    {"jtag-idcode", required_argument, NULL, JTAG_IDCODE},
    {"die-with-parent", no_argument, NULL, DIE},
    {"verbose", no_argument, NULL, VERBOSE},
    {"dap-tcp", required_argument, NULL, DAP_TCP},
    {"dap-packet", required_argument, NULL, DAP_PACKET},
    {"dap-count", required_argument, NULL, DAP_COUNT},
    {"dap-timer", no_argument, NULL, DAP_TIMER},
    {"dap-plain", no_argument, NULL, DAP_PLAIN},
    {"dap-quirks", required_argument, NULL, DAP_QUIRKS},
    {"dap-serial", required_argument, NULL, DAP_SERIAL},
    {"dap-firmware", required_argument, NULL, DAP_FIRMWARE},
    {"dap-latency", required_argument, NULL, DAP_LATENCY},
    {"dap-wire", required_argument, NULL, DAP_WIRE},
    {"dap-exact", no_argument, NULL, DAP_EXACT},
    {"dap-naps", no_argument, NULL, DAP_NAPS},
    {"usb", required_argument, NULL, USB},
    {"usb-v1-only", no_argument, NULL, USB_V1_ONLY},
    {"usb-v2-only", no_argument, NULL, USB_V2_ONLY},
    {"usb-latency", required_argument, NULL, USB_LATENCY},
    {"usb-id", required_argument, NULL, USB_ID},
    {"usb-name", required_argument, NULL, USB_NAME},
    {"usb-interface", required_argument, NULL, USB_INTERFACE},
    {"usb-class", required_argument, NULL, USB_CLASS},
    {"usb-endpoint", required_argument, NULL, USB_ENDPOINT},
    {"itm-fifo", required_argument, NULL, ITM_FIFO_BYTES},
    {"trace-quirk", required_argument, NULL, TRACE_QUIRK},
    {"dap-swo", required_argument, NULL, DAP_SWO},
    {"swo-buffer", required_argument, NULL, SWO_BUFFER_BYTES},
    {NULL, 0, NULL, 0},
};

static bool number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return !errno && *text >= '0' && *text <= '9' && !*end && *value >= low && *value <= high;
}

// VENDOR:PRODUCT:RELEASE, four hexadecimal digits each
static bool usb_id(struct options *o, const char *text)
{
    uint16_t *numbers[] = {&o->usb_vendor, &o->usb_product, &o->usb_release};
    bool ok = strlen(text) == 14 && text[4] == ':' && text[9] == ':';
    for (size_t i = 0; i < 3 && ok; i++) {
        char *end;
        *numbers[i] = (uint16_t)strtoul(text + 5 * i, &end, 16);
        ok = end == text + 5 * i + 4;
    }
    return ok;
}

static bool take(struct options *o, int option, const char *text)
{
    uint64_t value = 0;
    bool ok = true;
    switch (option) {
    case CHIP:
        o->chip = chip_named(text);
        return o->chip != NULL;
    case FIRMWARE:
        o->firmware = text;
        return true;
    case JTAG:
        ok = number(text, 0, UINT16_MAX, &value);
        o->jtag = (uint16_t)value;
        return ok;
    case JTAG_SOCKET:
        o->jtag_socket = text;
        return true;
    case CONTROL:
        ok = number(text, 0, UINT16_MAX, &value);
        o->control = (uint16_t)value;
        return ok;
    case CLOCK:
        ok = number(text, 1000, 1000000000, &value);
        o->clock = (uint32_t)value;
        return ok;
    case IDLE_CLOCK:
        ok = number(text, 1000, 1000000000, &value);
        o->idle_clock = (uint32_t)value;
        return ok;
    case SEED:
        return number(text, 0, UINT64_MAX, &o->seed);
    case HALT_COST:
        return halt_cost_parse(&o->halt_cost, text);
    case HALT_IRQ:
        ok = number(text, 0, 1000, &value);
        o->halt_cost.irq_permille = (uint32_t)value;
        return ok;
    case CORE_STATE:
        o->core_state = text;
        return true;
    case NO_ROM_TABLE:
        o->no_rom_table = true;
        return true;
    case PORT_QUIRKS:
        return adi_parse_quirks(text, &o->port_quirks);
    case DAP_EXACT:
        o->dap_exact = true;
        return true;
    case DAP_NAPS:
        o->dap_naps = true;
        return true;
    case STOP_SKID:
        o->has_skid = number(text, 0, 1000, &value);
        o->stop_skid = (uint32_t)value;
        return o->has_skid;
    case SAMPLE_SKID:
        if (!number(text, 0, SAMPLE_SKID_MOST, &value))
            return false;
        o->sample_skid = (uint32_t)value;
        return true;
    case NO_CATCH_UP:
        o->no_catch_up = true;
        return true;
    case JTAG_IDCODE:
        ok = number(text, 1, UINT32_MAX, &value);
        o->jtag_idcode = (uint32_t)value;
        return ok;
    case JTAG_PROTOCOL_1:
        o->jtag_protocol_1 = true;
        return true;
    case DAP_TCP:
        ok = number(text, 0, UINT16_MAX, &value);
        o->dap_tcp = (uint16_t)value;
        return ok;
    case DAP_PACKET:
        ok = number(text, 64, PROCESSOR_PACKET, &value);
        o->dap_packet = (uint16_t)value;
        return ok;
    case DAP_COUNT:
        ok = number(text, 1, 8, &value);
        o->dap_count = (uint16_t)value;
        return ok;
    case DAP_TIMER:
        o->dap_timer = true;
        return true;
    case DAP_PLAIN:
        o->dap_atomic = false;
        return true;
    case DAP_QUIRKS:
        return quirks_parse(text, &o->dap_quirks);
    case DAP_SERIAL:
        o->dap_serial = text;
        return true;
    case DAP_FIRMWARE:
        o->dap_firmware = text;
        return true;
    case DAP_LATENCY:
        ok = number(text, 0, 1000000, &value);
        o->dap_latency = (uint32_t)value;
        return ok;
    case DAP_WIRE:
        ok = number(text, 1000, 1000000000, &value);
        o->dap_wire = (uint32_t)value;
        return ok;
    case USB: // the path goes into JSON as it is
        o->usb = text;
        return *text == '/' && !strpbrk(text, "\"\\");
    case USB_V1_ONLY:
        o->usb_v2 = false;
        return true;
    case USB_V2_ONLY:
        o->usb_v1 = false;
        return true;
    case USB_LATENCY:
        ok = number(text, 0, 1000000, &value);
        o->usb_latency = (uint32_t)value;
        return ok;
    case USB_ID:
        return usb_id(o, text);
    case USB_NAME:
        o->usb_name = text;
        return true;
    case USB_INTERFACE:
        o->usb_interface = text;
        return true;
    case USB_CLASS:
        ok = number(text, 0, 255, &value);
        o->usb_class = (uint8_t)value;
        return ok;
    case USB_ENDPOINT:
        ok = number(text, 8, 512, &value);
        o->usb_endpoint = (uint16_t)value;
        return ok;
    case ITM_FIFO_BYTES: // at least a packet with what goes before it
        ok = number(text, 16, ITM_FIFO_MOST, &value);
        o->itm_fifo = (uint32_t)value;
        return ok;
    case DAP_SWO:
        return swo_parse(text, &o->dap_swo);
    case SWO_BUFFER_BYTES:
        ok = number(text, 64, SWO_BUFFER_MOST, &value);
        o->swo_buffer = (uint32_t)value;
        return ok;
    case TRACE_QUIRK:
        return trace_quirk_parse(text, &o->trace_quirks);
    case DIE:
        o->die_with_parent = true;
        return true;
    case VERBOSE:
        o->verbose = true;
        return true;
    default:
        return false;
    }
}

bool options_parse(struct options *o, int argc, char **argv)
{
    int option, index = 0;
    *o = (struct options){.clock = 12000000,
                          .seed = 1,
                          .dap_packet = 512,
                          .dap_count = 4,
                          .dap_atomic = true,
                          .dap_serial = "VIRTUAL1",
                          .swo_buffer = SWO_BUFFER,
                          .usb_v1 = true,
                          .usb_v2 = true,
                          .usb_vendor = 0x0D28,
                          .usb_product = 0x0204,
                          .usb_release = 0x0100,
                          .usb_name = "Virtual CMSIS-DAP",
                          .usb_interface = "CMSIS-DAP v2",
                          .usb_class = 0xFF};
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (option == '?') // getopt has printed what is wrong
            return false;
        if (!take(o, option, optarg)) {
            fprintf(stderr, "board: --%s: bad value '%s'\n", long_options[index].name, optarg);
            return false;
        }
    }
    if (optind != argc || !o->chip || !o->firmware || (!o->usb_v1 && !o->usb_v2)) {
        fputs("usage: board --chip ", stderr);
        chip_print_names(stderr);
        fprintf(
            stderr,
            " --firmware ELF [--jtag PORT] [--jtag-socket PATH] [--control PORT]\n"
            "             [--clock HZ] [--idle-clock HZ] [--seed N] [--halt-cost N|N..M] [--halt-irq "
            "PERMILLE]\n"
            "             [--core-state NAME] [--no-rom-table] [--port-quirks NAME,...]\n"
            "             [--stop-skid N] [--sample-skid N] [--no-catch-up] [--jtag-protocol-1] "
            "[--jtag-idcode N] "
            "[--die-with-parent] "
            "[--dap-firmware FILE.so]\n"
            "             [--dap-tcp PORT] [--dap-packet BYTES] [--dap-count N] [--dap-latency US]\n"
            "             [--dap-wire HZ] [--dap-exact] [--dap-naps] [--dap-timer] [--dap-plain] "
            "[--dap-serial TEXT] "
            "[--dap-quirks "
            "NAME,...]\n"
            "             [--usb DIR [--usb-v1-only|--usb-v2-only] [--usb-latency US]\n"
            "             [--usb-id VENDOR:PRODUCT:RELEASE] [--usb-name TEXT] [--usb-interface TEXT]\n"
            "             [--usb-class N] [--usb-endpoint BYTES]] [--itm-fifo BYTES]\n"
            "             [--trace-quirk NAME]... [--dap-swo uart,manchester,stream] [--swo-buffer BYTES]\n"
            "             [--verbose]\n");
        return false;
    }
    halt_cost_seed(&o->halt_cost, o->seed);
    return true;
}
