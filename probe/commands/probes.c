/* probes: what can be reached from here. */
#include "commands/command.h"
#include "commands/connect.h"
#include "report/json_part.h"
#include "report/utf8.h"

#include <stdio.h>

static const char *state_word(const struct link_view *view)
{
    static const char *const words[] = {
        [VIEW_UNKNOWN] = "", [VIEW_RUNNING] = "running", [VIEW_HALTED] = "halted", [VIEW_RESET] = "in reset"};
    return view->is_core ? words[view->state] : "";
}

enum { VIEWS = 64 };

static bool is_json(const struct context *context)
{
    return context->options->format == FORMAT_JSON;
}

static void put_link(const struct context *context, const char *text, const struct link_view *views, size_t n)
{
    struct json_part line = json_part_new("link");
    json_t *targets = json_array();
    json_part_text(&line, "link", text);
    for (size_t i = 0; i < n; i++) {
        struct json_part one = json_part_new(NULL);
        json_part_text(&one, "name", views[i].name);
        json_part_text(&one, "type", views[i].type);
        json_part_text(&one, "state", state_word(&views[i]));
        line.ok = line.ok && one.ok;
        json_part_append(&line, targets, one.json);
    }
    json_part_array(&line, "targets", targets);
    json_part_write(context->out, line);
}

static void print_link(const struct context *context, struct link *link, struct error *error)
{
    struct link_view views[VIEWS];
    char text[128], name[UTF8_CLEAN_ROOM(64)], type[UTF8_CLEAN_ROOM(32)];
    link_describe(link, text, sizeof text);
    size_t n = link_views(link, views, VIEWS, error);
    if (is_json(context)) {
        put_link(context, text, views, n);
        return;
    }
    fprintf(context->out, "%s\n", text);
    if (n == 0 && error->kind == ERROR_NONE)
        fprintf(context->out, "  no targets\n");
    for (size_t i = 0; i < n; i++)
        fprintf(context->out, "  %-24s %-12s %s\n", utf8_clean(name, sizeof name, views[i].name),
                utf8_clean(type, sizeof type, views[i].type), state_word(&views[i]));
}

static const char *interface_words(const struct dap_found *found)
{
    if (found->speaks_both)
        return found->kind == DAP_HID ? "v1 (HID), and v2" : "v2 (bulk), and v1";
    return found->kind == DAP_HID ? "v1 (HID)" : "v2 (bulk)";
}

static void put_plugged(const struct context *context, const struct dap_listed *listed)
{
    const struct dap_info *info = &listed->info;
    const struct dap_found *found = &listed->found;
    struct json_part line = json_part_new("probe");
    char id[16];
    snprintf(id, sizeof id, "%04x:%04x", found->vendor, found->product);
    json_part_text(&line, "id", id);
    json_part_text(&line, "serial", found->serial);
    json_part_text(&line, "name", found->name);
    json_part_text(&line, "interface", interface_words(found));
    json_part_text(&line, "problem", found->problem);
    if (found->problem[0] == '\0') {
        json_part_text(&line, "protocol", info->protocol);
        json_part_unsigned(&line, "packet_size", info->packet_size);
        json_part_unsigned(&line, "packet_count", info->packet_count);
        json_part_unsigned(&line, "packets_in_flight", listed->window);
        json_part_bool(&line, "swd", info->capabilities & DAP_CAN_SWD || !info->capabilities_known);
        json_part_bool(&line, "jtag", info->capabilities & DAP_CAN_JTAG);
        json_part_bool(&line, "atomic", info->capabilities & DAP_CAN_ATOMIC);
        json_part_bool(&line, "timer", info->capabilities & DAP_CAN_TIMER);
    }
    json_part_write(context->out, line);
}

static void print_plugged(const struct context *context, const struct dap_listed *listed)
{
    if (is_json(context)) {
        put_plugged(context, listed);
        return;
    }
    char name[UTF8_CLEAN_ROOM(64)], serial[UTF8_CLEAN_ROOM(64)], firmware[UTF8_CLEAN_ROOM(32)],
        problem[UTF8_CLEAN_ROOM(200)];
    const struct dap_info *info = &listed->info;
    fprintf(context->out, "cmsis-dap:%s   %04x:%04x   %s   %s\n",
            utf8_clean(serial, sizeof serial, listed->found.serial), listed->found.vendor,
            listed->found.product, interface_words(&listed->found),
            utf8_clean(name, sizeof name, listed->found.name));
    if (listed->found.problem[0] != '\0') {
        fprintf(context->out, "  %s\n", utf8_clean(problem, sizeof problem, listed->found.problem));
        return;
    }
    char many[64];
    snprintf(many, sizeof many,
             listed->window < info->packet_count ? "one at a time (it announces %u)" : "%u at once",
             info->packet_count);
    fprintf(context->out, "  CMSIS-DAP %s, packets of %zu bytes, %s%s%s%s%s\n",
            utf8_clean(firmware, sizeof firmware, info->protocol), info->packet_size, many,
            info->capabilities & DAP_CAN_SWD || !info->capabilities_known ? ", SWD" : "",
            info->capabilities & DAP_CAN_JTAG ? ", JTAG" : "",
            info->capabilities & DAP_CAN_ATOMIC ? ", atomic" : "",
            info->capabilities & DAP_CAN_TIMER ? ", timer" : "");
}

static void put_adapter(const struct context *context, const struct adapter_found *found)
{
    struct json_part line = json_part_new("adapter");
    char id[16];
    snprintf(id, sizeof id, "%04x:%04x", found->vendor, found->product);
    json_part_text(&line, "id", id);
    json_part_text(&line, "serial", found->serial);
    json_part_text(&line, "name", found->adapter->name);
    json_part_text(&line, "way", found->adapter->way);
    json_part_write(context->out, line);
}

static void print_adapter(const struct context *context, const struct adapter_found *found)
{
    char serial[UTF8_CLEAN_ROOM(64)];
    if (is_json(context)) {
        put_adapter(context, found);
        return;
    }
    utf8_clean(serial, sizeof serial, found->serial);
    fprintf(context->out, "%s   %04x:%04x%s%s\n  %s\n", found->adapter->name, found->vendor, found->product,
            serial[0] != '\0' ? "   " : "", serial, found->adapter->way);
}

static int end(const struct context *context, size_t probes, const struct error *error)
{
    if (error->kind != ERROR_NONE)
        return error_exit_code(error->kind);
    if (is_json(context)) {
        struct json_part line = json_part_new("summary");
        json_part_unsigned(&line, "probes", probes);
        json_part_write(context->out, line);
    }
    return EXIT_DONE;
}

/* Nothing is no failure: there is just nothing. Something on OpenOCD's port that is none is one. */
static int tell_nothing(const struct context *context, const struct error *no_server, struct error *error)
{
    if (no_server->kind != ERROR_NO_PROBE) {
        *error = *no_server;
        return error_exit_code(error->kind);
    }
    if (!is_json(context))
        fprintf(context->out,
                "no probe found: no CMSIS-DAP probe and no other debug adapter is plugged in, and %s\n%s\n",
                no_server->text, error_advice(ERROR_NO_PROBE));
    return end(context, 0, error);
}

/* Everything that is there: a running OpenOCD, and whatever is plugged in. */
static int list_all(const struct context *context, struct error *error)
{
    struct dap_listed listed[CONNECT_PROBES];
    struct adapter_found adapters[CONNECT_PROBES];
    struct error no_server = {0};
    struct options at_home = *context->options;
    at_home.probe = "openocd";
    struct context home = {.options = &at_home, .cancel = context->cancel, .out = context->out};
    if (is_json(context))
        json_command_header(context->out, "probes", "");
    struct link *link = connect_link(&home, &no_server);
    if (link != NULL)
        print_link(context, link, error);
    link_close(link);
    size_t n = connect_list(context, listed, CONNECT_PROBES);
    for (size_t i = 0; i < n; i++)
        print_plugged(context, &listed[i]);
    size_t others = dap_list_adapters(listed, n, adapters, CONNECT_PROBES);
    for (size_t i = 0; i < others; i++)
        print_adapter(context, &adapters[i]);
    if (link == NULL && n == 0 && others == 0)
        return tell_nothing(context, &no_server, error);
    return end(context, n, error);
}

int command_probes(const struct context *context, struct error *error)
{
    if (context->options->probe == NULL && context->options->n_openocd == 0 && !context->options->wires_said)
        return list_all(context, error);
    struct link *link = connect_link(context, error);
    if (link == NULL)
        return error_exit_code(error->kind);
    if (is_json(context))
        json_command_header(context->out, "probes", "");
    print_link(context, link, error);
    link_close(link);
    return end(context, 0, error);
}
