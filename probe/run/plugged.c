/* SPDX-License-Identifier: MIT */
#include "run/plugged.h"

#include "links/link.h"
#include "report/json.h"
#include "report/render.h"
#include "run/connect.h"

#include <stdio.h>

static const char *state_word(const struct link_view *view)
{
    static const char *const words[] = {
        [VIEW_UNKNOWN] = "", [VIEW_RUNNING] = "running", [VIEW_HALTED] = "halted", [VIEW_RESET] = "in reset"};
    return view->is_core ? words[view->state] : "";
}

enum { VIEWS = 64 };

static void list_add_link(struct document *document, struct link *link, struct error *error)
{
    struct link_view views[VIEWS];
    char text[128];
    struct json_part line = json_part_new("link"), unseen = json_part_new(NULL);
    json_t *targets = json_array();
    link_describe(link, text, sizeof text);
    json_part_text(&line, "link", text);
    for (size_t i = 0, n = link_views(link, views, VIEWS, error); i < n; i++) {
        struct json_part one = json_part_new(NULL);
        json_part_text(&one, "name", views[i].name);
        json_part_text(&one, "type", views[i].type);
        json_part_text(&one, "state", state_word(&views[i]));
        json_part_add(&line, targets, one);
    }
    json_part_array(&line, "targets", targets);
    if (error->kind != ERROR_NONE)
        row_flag(&unseen, "unread", true);
    document_add(document, unseen);
    document_add(document, line);
}

static const char *interface_words(const struct dap_found *found)
{
    if (found->speaks_both)
        return found->kind == DAP_HID ? "v1 (HID), and v2" : "v2 (bulk), and v1";
    return found->kind == DAP_HID ? "v1 (HID)" : "v2 (bulk)";
}

static struct json_part plugged_line(const char *type, uint16_t vendor, uint16_t product, const char *serial,
                                     const char *usb, const char *name)
{
    struct json_part line = json_part_new(type);
    char id[16];
    snprintf(id, sizeof id, "%04x:%04x", vendor, product);
    json_part_text(&line, "id", id);
    json_part_text(&line, "serial", serial);
    json_part_text(&line, "usb", usb);
    json_part_text(&line, "name", name);
    return line;
}

static struct json_part probe_line(const struct dap_listed *listed)
{
    const struct dap_info *info = &listed->info;
    const struct dap_found *found = &listed->found;
    struct json_part line =
        plugged_line("probe", found->vendor, found->product, found->serial, found->usb, found->name);
    json_part_text(&line, "interface", interface_words(found));
    json_part_text(&line, "problem", found->problem);
    if (found->problem[0] != '\0')
        return line;
    json_part_text(&line, "protocol", info->protocol);
    json_part_unsigned(&line, "packet_size", info->packet_size);
    json_part_unsigned(&line, "packet_count", info->packet_count);
    json_part_unsigned(&line, "packets_in_flight", listed->window);
    json_part_bool(&line, "swd", info->capabilities & DAP_CAN_SWD || !info->capabilities_known);
    json_part_bool(&line, "jtag", info->capabilities & DAP_CAN_JTAG);
    json_part_bool(&line, "atomic", info->capabilities & DAP_CAN_ATOMIC);
    json_part_bool(&line, "timer", info->capabilities & DAP_CAN_TIMER);
    return line;
}

static struct json_part adapter_line(const struct adapter_found *found)
{
    struct json_part line = plugged_line("adapter", found->vendor, found->product, found->serial, found->usb,
                                         found->adapter->name);
    json_part_text(&line, "way", found->adapter->way);
    return line;
}

/* A running OpenOCD and all probes and adapters that are plugged in; their number. To find nothing is not a
 * failure, but another program on OpenOCD's port is one. */
static size_t list_add_all(const struct request *request, const struct surroundings *around,
                           struct document *document, struct error *error)
{
    struct dap_listed listed[CONNECT_PROBES];
    struct adapter_found adapters[CONNECT_PROBES];
    struct error no_server = {0};
    struct request at_home = *request;
    at_home.probe = "openocd";
    const struct surroundings home = {.cancel = around->cancel, .wire = around->wire};
    struct link *link = connect_link(&at_home, &home, &no_server);
    bool is_there = link != NULL;
    if (is_there)
        list_add_link(document, link, error);
    link_close(link);
    size_t n = connect_list(around, listed, CONNECT_PROBES);
    for (size_t i = 0; i < n; i++)
        document_add(document, probe_line(&listed[i]));
    size_t others = dap_list_adapters(listed, n, adapters, CONNECT_PROBES);
    for (size_t i = 0; i < others; i++)
        document_add(document, adapter_line(&adapters[i]));
    if (!is_there && n + others > 0 && no_server.kind != ERROR_NO_PROBE) {
        request_note(request, "%s", no_server.text);
    } else if (!is_there && n + others == 0 && no_server.kind != ERROR_NO_PROBE) {
        *error = no_server;
    } else if (!is_there && n + others == 0) {
        struct json_part unseen = json_part_new(NULL);
        row_text(&unseen, "nothing", no_server.text);
        row_text(&unseen, "advice", error_advice(&no_server));
        document_add(document, unseen);
    }
    return n;
}

bool plugged_put(const struct request *request, const struct surroundings *around, struct document *document,
                 struct error *error)
{
    size_t n = 0;
    document_add(document, json_command_part("probes", ""));
    if (request->probe == NULL && request->n_openocd == 0 && !request->wires_said) {
        n = list_add_all(request, around, document, error);
    } else {
        struct link *link = connect_link(request, around, error);
        if (link == NULL)
            return false;
        list_add_link(document, link, error);
        link_close(link);
    }
    if (error->kind != ERROR_NONE)
        return false;
    struct json_part line = json_part_new("summary");
    json_part_unsigned(&line, "probes", n);
    document_add(document, line);
    return true;
}
