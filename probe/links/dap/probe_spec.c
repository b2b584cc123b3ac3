/* SPDX-License-Identifier: MIT */
#include "links/dap/carrier.h"

#include "base/socket.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char usb_word[] = "cmsis-dap", tcp_word[] = "cmsis-dap-tcp", usb_port_word[] = "usb:";

/* The text after the word and its colon; NULL if the text begins with another word. */
static const char *probe_spec_after(const char *text, const char *word)
{
    size_t n = strlen(word);
    if (strncasecmp(text, word, n) != 0 || (text[n] != '\0' && text[n] != ':'))
        return NULL;
    return text[n] == ':' ? text + n + 1 : text + n;
}

bool probe_spec_is(const char *probe)
{
    return probe_spec_after(probe, usb_word) != NULL || probe_spec_after(probe, tcp_word) != NULL;
}

bool probe_spec_names(const struct probe_spec *spec, uint16_t vendor, uint16_t product)
{
    return spec != NULL && spec->by_id && spec->vendor == vendor && spec->product == product;
}

/* Four hexadecimal digits, then `end`. */
static bool read_id(const char *text, char end, uint16_t *out)
{
    *out = (uint16_t)strtoul(text, NULL, 16);
    return strspn(text, "0123456789abcdefABCDEF") == 4 && text[4] == end;
}

/* A number from 1 to 255 without leading zeros; the text after it, NULL: none. */
static const char *skip_number(const char *text)
{
    unsigned value = 0;
    const char *at = text;
    for (; isdigit((unsigned char)*at) && at < text + 3; at++)
        value = value * 10 + (unsigned)(*at - '0');
    return text[0] != '0' && value >= 1 && value <= UINT8_MAX ? at : NULL;
}

/* Where a USB device is plugged in, as Linux spells it: "1-1.4" is port 4 of the hub at port 1 of bus 1. */
static bool usb_port_is(const char *text)
{
    enum { DEPTH = 7 }; /* USB 2.0, 4.1.1: tiers; sysfs has a number for each but the root's */
    const char *at = skip_number(text);
    for (int i = 0; i < DEPTH && at != NULL && *at == (i == 0 ? '-' : '.'); i++) {
        at = skip_number(at + 1);
        if (at != NULL && *at == '\0')
            return true;
    }
    return false;
}

bool usb_port_of_path(const char *path, char out[USB_PORT_ROOM])
{
    out[0] = '\0';
    while (*path != '\0') {
        char part[USB_PORT_ROOM];
        size_t length = strcspn(path, "/");
        if (length < sizeof part) {
            memcpy(part, path, length);
            part[length] = '\0';
            if (usb_port_is(part))
                memcpy(out, part, length + 1);
        }
        path += length + (path[length] == '/');
    }
    return out[0] != '\0';
}

static bool read_usb(const char *port, struct probe_spec *out, struct error *error)
{
    if (!usb_port_is(port))
        return error_set(
            error, ERROR_USAGE,
            "--probe cmsis-dap:usb: takes a place such as 1-1.4, not \"%.64s\"; pmu-probe probes shows them",
            port);
    snprintf(out->usb, sizeof out->usb, "%s", port);
    return true;
}

bool probe_spec_read(const char *probe, struct probe_spec *out, struct error *error)
{
    *out = (struct probe_spec){.port = DAP_TCP_PORT};
    snprintf(out->host, sizeof out->host, "localhost");
    const char *rest = probe_spec_after(probe, tcp_word);
    if (rest != NULL) {
        out->kind = DAP_TCP;
        return socket_address_read(rest, out->host, sizeof out->host, &out->port, error);
    }
    rest = probe_spec_after(probe, usb_word);
    if (rest == NULL)
        return error_set(error, ERROR_USAGE, "--probe %.64s: not a CMSIS-DAP probe", probe);
    if (strncmp(rest, usb_port_word, strlen(usb_port_word)) == 0)
        return read_usb(rest + strlen(usb_port_word), out, error);
    uint16_t vendor, product;
    if (strlen(rest) == 9 && read_id(rest, ':', &vendor) && read_id(rest + 5, '\0', &product)) {
        out->by_id = true;
        out->vendor = vendor;
        out->product = product;
        return true;
    }
    if (strlen(rest) >= sizeof out->serial)
        return error_set(error, ERROR_USAGE, "--probe: the serial number is too long");
    snprintf(out->serial, sizeof out->serial, "%s", rest);
    return true;
}

void usb_choice_name(const struct dap_found *found, char *out, size_t size)
{
    snprintf(out, size, "%04x:%04x%s%s", found->vendor, found->product, found->serial[0] != '\0' ? " " : "",
             found->serial);
}

bool usb_choice_is_probe(const struct dap_found *found)
{
    /* These IDs belong to CMSIS-DAP probes only, whatever name the device has: EDBG, Atmel-ICE; KitProg1 and
     * 2, MiniProg4, KitProg3; DAPLink; Orbtrace; WCH-Link in its CMSIS-DAP mode; LPC-Link2, MCU-Link; Debug
     * Probe; ULINKplus */
    static const struct {
        uint16_t vendor, product;
    } known[] = {
        {0x03EB, 0x2111}, {0x03EB, 0x2141}, {0x04B4, 0xF138}, {0x04B4, 0xF151},
        {0x04B4, 0xF152}, {0x04B4, 0xF154}, {0x04B4, 0xF155}, {0x04B4, 0xF166},
        {0x0D28, 0x0204}, {0x1209, 0x3443}, {0x1A86, 0x8011}, {0x1A86, 0x8012},
        {0x1FC9, 0x0090}, {0x1FC9, 0x0143}, {0x2E8A, 0x000C}, {0xC251, 0x2750},
    };
    bool is = found->by_hand || found->is_named || descriptors_name_probe(found->name);
    for (size_t i = 0; i < sizeof known / sizeof *known && !is; i++)
        is = known[i].vendor == found->vendor && known[i].product == found->product;
    return is;
}

bool usb_choice_takes_several(const struct dap_found *found, const char **words)
{
    enum { DAPLINK = 0x0204, DEBUG_PROBE = 0x000C, PICOPROBE = 0x0004 };
    /* Before 2.3.1, whatever packet count they announce: they merge packets and mix up lengths of replies */
    static const char old_debugprobe[] = "its firmware loses others before 2.3.1";
    const uint16_t first_good = 0x0231;
    *words = NULL;
    if (found->vendor == 0x0D28)
        return found->product == DAPLINK;
    if (found->vendor != 0x2E8A || (found->product != DEBUG_PROBE && found->product != PICOPROBE))
        return false;
    *words = found->release < first_good ? old_debugprobe : NULL;
    return found->release >= first_good;
}

static bool probe_spec_is_wanted(const struct dap_found *found, const struct probe_spec *spec)
{
    if (spec->kind != DAP_ANY && spec->kind != found->kind)
        return false;
    if (spec->by_id && (found->vendor != spec->vendor || found->product != spec->product))
        return false;
    if (spec->usb[0] != '\0' && strcmp(spec->usb, found->usb) != 0)
        return false;
    return spec->serial[0] == '\0' || strcmp(spec->serial, found->serial) == 0;
}

/* The same probe, seen through its other interface. */
static bool probe_spec_is_same(const struct dap_found *a, const struct dap_found *b)
{
    bool places = a->usb[0] != '\0' && b->usb[0] != '\0';
    return a->vendor == b->vendor && a->product == b->product && a->kind != b->kind &&
           (places ? strcmp(a->usb, b->usb) == 0 : strcmp(a->serial, b->serial) == 0);
}

/* Another probe with the same serial number: cheap ones all have one. */
static bool has_twin(const struct dap_found *list, size_t n, const struct dap_found *found)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].usb[0] != '\0' && strcmp(list[i].serial, found->serial) == 0 &&
            strcmp(list[i].usb, found->usb) != 0)
            return true;
    return false;
}

void usb_choice_identity(const struct dap_found *list, size_t n, const struct dap_found *found, char *out,
                         size_t size)
{
    bool known = found->usb[0] != '\0', alone = !known || !has_twin(list, n, found);
    if (found->serial[0] != '\0' && alone)
        snprintf(out, size, "%s", found->serial);
    else
        snprintf(out, size, "%s%sat %s%s", found->serial, found->serial[0] != '\0' ? " " : "",
                 known ? usb_port_word : "", known ? found->usb : found->place);
}

void usb_choice_keep(const struct dap_found *list, size_t n, const struct dap_found *found,
                     struct probe_spec *spec)
{
    snprintf(spec->serial, sizeof spec->serial, "%s", found->serial);
    if (found->serial[0] == '\0' || has_twin(list, n, found))
        snprintf(spec->usb, sizeof spec->usb, "%s", found->usb);
}

/* As the user may name it: "2e8a:000c E6614C311B7F at usb:1-1.4". */
static void add_candidate(char *names, size_t size, const struct dap_found *found, const char *first)
{
    char name[96];
    size_t used = strlen(names);
    usb_choice_name(found, name, sizeof name);
    int more =
        snprintf(names + used, size - used, "%s%s%s%s%s", used > 0 ? ", " : first, name,
                 found->usb[0] != '\0' ? " at " : "", found->usb[0] != '\0' ? usb_port_word : "", found->usb);
    if (more < 0 || (size_t)more >= size - used) /* whole ones only */
        names[used] = '\0';
}

/* Whether an earlier entry is the same probe. */
static bool is_again(const struct dap_found *list, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (probe_spec_is_same(&list[k], &list[i]))
            return true;
    return false;
}

static bool is_better(const struct dap_found *found, const struct dap_found *than)
{
    return found->problem[0] == '\0' && (found->kind == DAP_USB || than->problem[0] != '\0');
}

/* Of a device with several HID interfaces the one that is named speaks CMSIS-DAP: KitProg3's other is a
 * bridge. */
static bool is_next_to_the_named(const struct dap_found *list, size_t n, const struct dap_found *found)
{
    for (size_t i = 0; i < n && found->kind == DAP_HID && !found->is_named && found->usb[0] != '\0'; i++)
        if (list[i].is_named && strcmp(list[i].usb, found->usb) == 0)
            return true;
    return false;
}

size_t usb_choice_drop_bridges(struct dap_found *list, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_next_to_the_named(list, n, &list[i]))
            list[kept++] = list[i];
    return kept;
}

size_t usb_choice_merge(struct dap_found *list, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        while (same < kept && (list[same].speaks_both || !probe_spec_is_same(&list[same], &list[i])))
            same++;
        if (same == kept) {
            list[kept++] = list[i];
            continue;
        }
        if (is_better(&list[i], &list[same]))
            list[same] = list[i];
        list[same].speaks_both = true;
    }
    return kept;
}

const struct dap_found *usb_choice_choose(const struct dap_found *list, size_t n,
                                          const struct probe_spec *spec, struct error *error)
{
    const struct dap_found *chosen = NULL;
    char names[512] = "";
    size_t others = 0;
    for (size_t i = 0; i < n; i++) {
        if (!probe_spec_is_wanted(&list[i], spec))
            continue;
        if (chosen != NULL && probe_spec_is_same(chosen, &list[i])) {
            chosen = is_better(&list[i], chosen) || chosen->problem[0] != '\0' ? &list[i] : chosen;
            continue;
        }
        if (spec->kind == DAP_ANY && is_again(list, i))
            continue;
        others += chosen != NULL;
        if (chosen == NULL)
            chosen = &list[i];
        add_candidate(names, sizeof names, &list[i], "");
    }
    if (others > 0)
        return error_null(
            error, ERROR_USAGE,
            "several probes: %s; choose one with --probe cmsis-dap:SERIAL or cmsis-dap:usb:PORT", names);
    if (chosen != NULL)
        return chosen;
    names[0] = '\0';
    for (size_t i = 0; i < n; i++)
        if (!is_again(list, i))
            add_candidate(names, sizeof names, &list[i], "; there is ");
    char id[16] = "";
    if (spec->by_id)
        snprintf(id, sizeof id, " %04x:%04x", spec->vendor, spec->product);
    bool named = spec->usb[0] != '\0' || spec->serial[0] != '\0' || spec->by_id;
    return error_null(error, ERROR_NO_PROBE, "no CMSIS-DAP probe%s%s%.64s is plugged in%s%s%s", id,
                      spec->serial[0] != '\0' ? " " : "", spec->serial,
                      spec->usb[0] != '\0' ? " at usb:" : "", spec->usb, named ? names : "");
}

enum { ST = 0x0483, SEGGER = 0x1366, FTDI = 0x0403, RASPBERRY_PI = 0x2E8A };

#define STLINK_V1 "reached through OpenOCD: pmu-probe -f interface/stlink.cfg -f target/YOUR_CHIP.cfg info"
#define STLINK                                                                                               \
    "reached through OpenOCD: pmu-probe -f interface/stlink-dap.cfg -c 'transport select dapdirect_swd' -f " \
    "target/YOUR_CHIP.cfg info"
#define LOADER "in its boot loader: replug it; ST's STSW-LINK007 loads its firmware"
#define JLINK                                                                                                \
    "reached through OpenOCD: pmu-probe -f interface/jlink.cfg -c 'transport select swd' -f "                \
    "target/YOUR_CHIP.cfg info"
#define MPSSE                                                                                                \
    "reached through OpenOCD, if it is a debug adapter: pmu-probe -f "                                       \
    "interface/ftdi/YOUR_ADAPTER.cfg -f target/YOUR_CHIP.cfg info"
#define BOOTSEL(image)                                                                                       \
    "no probe yet: load the debugprobe firmware, " image                                                     \
    ", copied to its drive; to be measured, plug it in without the button"

/* The product IDs of OpenOCD 0.12: src/jtag/drivers/stlink_usb.c, and its interface files for FTDI's. */
static const struct adapter adapters[] = {
    {ST, 0x3744, "ST-Link V1", STLINK_V1},
    {ST, 0x3748, "ST-Link V2", STLINK},
    {ST, 0x374B, "ST-Link V2-1", STLINK},
    {ST, 0x3752, "ST-Link V2-1", STLINK},
    {ST, 0x374D, "ST-Link V3", LOADER},
    {ST, 0x374E, "ST-Link V3", STLINK},
    {ST, 0x374F, "ST-Link V3", STLINK},
    {ST, 0x3753, "ST-Link V3", STLINK},
    {ST, 0x3754, "ST-Link V3", STLINK},
    {ST, 0x3755, "ST-Link V3PWR", LOADER},
    {ST, 0x3757, "ST-Link V3PWR", STLINK},
    {SEGGER, 0, "J-Link", JLINK},
    {FTDI, 0x6010, "FTDI FT2232", MPSSE},
    {FTDI, 0x6011, "FTDI FT4232H", MPSSE},
    {FTDI, 0x6014, "FTDI FT232H", MPSSE},
    {RASPBERRY_PI, 0x0003, "Pico in BOOTSEL mode", BOOTSEL("debugprobe_on_pico.uf2")},
    {RASPBERRY_PI, 0x000F, "Pico 2 in BOOTSEL mode", BOOTSEL("debugprobe_on_pico2.uf2")},
};

const char *dap_other_way(const char *kind)
{
    static const struct {
        const char *name, *way;
    } ways[] = {{"stlink", STLINK}, {"st-link", STLINK}, {"jlink", JLINK}, {"j-link", JLINK}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcasecmp(ways[i].name, kind) == 0)
            return ways[i].way;
    return NULL;
}

const struct adapter *adapter_find(uint16_t vendor, uint16_t product)
{
    for (size_t i = 0; i < sizeof adapters / sizeof *adapters; i++)
        if (adapters[i].vendor == vendor && (adapters[i].product == product || adapters[i].product == 0))
            return &adapters[i];
    return NULL;
}
