/* SPDX-License-Identifier: MIT */
#include "debuggers/gdb_session.h"

#include "base/socket.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    INTERRUPT = 0x03,
    MEND_MS = 1500, /* in all */
    HERE_MS = 500,
    STRAY = 256,
    LET_GO_MS = 1000,
    OWED_MS = 300,
    LET_GO_TRIES = 2,
    LET_GO_LOOKS = 3
};

/* ---- the same connection ---- */

/* Only the answer to the greeting holds these words: what arrives before it is late, and dropped. */
static const char mark_answer[] = "PacketSize=";

static bool find_mark(struct gdb_session *session, const struct deadline *deadline, struct error *error)
{
    struct gdb_wire *wire = &session->wire;
    for (unsigned stray = 0; stray < STRAY; stray++) {
        struct error damaged = {0};
        enum gdb_came came = gdb_wire_receive(wire, deadline, &damaged);
        if (came == GDB_CAME && strstr(wire->payload, mark_answer) != NULL)
            return true;
        if (came == GDB_CAME)
            continue;
        if (came == GDB_CAME_NOT || wire->hung_up || deadline_passed(deadline))
            break;
        wire->lost = false;
    }
    return gdb_wire_silent(wire, error);
}

static bool ask_why(struct gdb_session *session, const struct deadline *deadline, struct error *error)
{
    return gdb_ask(session, "?", deadline, error) &&
           (gdb_take_stop(session, &session->mended_stop) ||
            gdb_wire_lose(&session->wire, ERROR_LINK_PROTOCOL, " does not say where the core is", error));
}

/* A server that does not answer while the core runs reads nothing before it stops. */
static bool stand_still(struct gdb_session *session, const struct debugger_facts *facts,
                        const struct deadline *deadline, struct error *error)
{
    if (!ask_why(session, deadline, error))
        return false;
    if (!server_row(facts->server)->answers_running || strncmp(session->wire.payload + 1, "00", 2) != 0)
        return true;
    if (!gdb_wire_send_raw(&session->wire, INTERRUPT, deadline, error))
        return false;
    while (gdb_wire_receive(&session->wire, deadline, error) == GDB_CAME) {
        if (gdb_take_stop(session, &session->mended_stop))
            return true;
        if (deadline_passed(deadline)) /* packets without end are always there */
            break;
    }
    return gdb_wire_lose(&session->wire, ERROR_LINK_LOST, " does not halt the core", error);
}

static bool mend_here(struct gdb_session *session, const struct debugger_facts *facts,
                      const struct deadline *deadline, struct error *error)
{
    struct gdb_wire *wire = &session->wire;
    struct deadline soon = deadline_slice(deadline, patience_ms(HERE_MS));
    if (wire->hung_up || wire->fd < 0 || wire->is_gdb || !session->has_packet_size)
        return gdb_wire_tell_lost(wire, error);
    wire->lost = false;
    if (session->running && !server_row(facts->server)->answers_running &&
        !gdb_wire_send_raw(wire, INTERRUPT, &soon, error))
        return false;
    return gdb_wire_send(wire, GDB_GREETING, strlen(GDB_GREETING), &soon, error) &&
           find_mark(session, &soon, error) && stand_still(session, facts, &soon, error);
}

/* ---- OpenOCD's resume ---- */

/* OpenOCD gives a Cortex-A or R that runs its registers all the same: a word stays in DBGDTRRX, and at the
 * next halt OpenOCD drops it into R0. So it polls first, and a core that runs is left alone. After a reset
 * OpenOCD fails once by what it remembers of the core; after a loss of power it must set up the core's debug
 * again. The state is read at once afterwards. */
static const char openocd_resume[] =
    "catch {[target current] arp_poll}; set pmu_was [[target current] curstate]; if {$pmu_was ne {running}} {"
    "if {[catch {resume}] && [[target current] curstate] eq {halted}} "
    "{catch {[target current] arp_examine}; if {[catch {resume}]} {resume}}}; "
    "catch {[target current] arp_poll}; "
    "format {pmu was %s, is %s} $pmu_was [[target current] curstate]";
static const char openocd_was[] = "pmu was ", openocd_ran[] = "pmu was running",
                  openocd_halted[] = ", is halted";

/* A request to halt that arrived while the core was halted OpenOCD carries out once the core runs, after the
 * command that let it run. So the core runs only once a command finds it running. *runs: false, something
 * else stops it. */
static bool let_openocd_go(struct gdb_session *session, bool *runs, const struct deadline *deadline,
                           struct error *error)
{
    char text[1024] = "";
    *runs = true;
    for (int looks = 0; looks < LET_GO_LOOKS; looks++) {
        if (!gdb_monitor(session, openocd_resume, text, sizeof text, deadline, error))
            return false;
        *runs = strstr(text, openocd_was) == NULL || strstr(text, openocd_ran) != NULL;
        if (*runs || strstr(text, openocd_halted) != NULL)
            break;
    }
    return true;
}

/* ---- blind ---- */

/* In one packet: a server that finds the connection closed reads few. Once more, for a belated request. */
static void tell_openocd_blindly(struct gdb_session *session, const struct deadline *deadline)
{
    char script[(size_t)64 * GDB_SET + sizeof openocd_resume] = "", packet[16 + 2 * sizeof script] = "qRcmd,";
    struct error ignored = {0};
    size_t used = 0;
    for (size_t i = 0; i < session->n_set; i++)
        used += (size_t)snprintf(script + used, sizeof script - used, "catch {rbp 0x%" PRIx64 "}; ",
                                 session->set[i].at);
    used += (size_t)snprintf(script + used, sizeof script - used, "%s", openocd_resume);
    gdb_hex_write(script, used, packet + strlen(packet));
    for (int i = 0; i < 2; i++)
        gdb_wire_send(&session->wire, packet, strlen(packet), deadline, &ignored);
}

/* What a server that wakes up later still reads. Nobody waits for its answers. */
static void tell_blindly(struct gdb_session *session, const struct debugger_facts *facts)
{
    struct gdb_wire *wire = &session->wire;
    struct deadline now = deadline_in_ms(0, NULL);
    struct error ignored = {0};
    bool by_monitor = server_row(facts->server)->resumes_by_monitor;
    if (wire->hung_up || wire->fd < 0 || wire->is_gdb)
        return;
    wire->lost = false;
    if (by_monitor)
        tell_openocd_blindly(session, &now);
    for (size_t i = 0; i < session->n_set && !by_monitor; i++) {
        char clear[64];
        int n = snprintf(clear, sizeof clear, "z1,%" PRIx64 ",%x", session->set[i].at, session->set[i].size);
        gdb_wire_send(wire, clear, (size_t)n, &now, &ignored);
    }
    gdb_wire_send(wire, "D", 1, &now, &ignored);
    wire->lost = true;
}

/* ---- a new connection ---- */

static bool connect_again(struct gdb_session *session, struct debugger *debugger,
                          const struct deadline *deadline, struct error *error)
{
    struct debugger_facts *facts = &debugger->facts;
    struct error why = {0};
    struct debugger_facts found = {0}; /* what counts is what was found first */
    if (session->port == 0)
        return gdb_wire_tell_lost(&session->wire, error);
    tell_blindly(session, facts); /* a new connection makes a server halt the core */
    gdb_wire_close(&session->wire);
    int fd = socket_connect(session->host, session->port, deadline, &why);
    if (fd < 0)
        return error_set(error, ERROR_LINK_LOST, "%s", why.text);
    gdb_wire_init(&session->wire, fd, false, session->wire.log);
    gdb_session_forget(session);
    debugger->halted_anew = true;
    if (gdb_session_begin(session, &found, &session->mended_stop, deadline, &why)) {
        if (facts->server == SERVER_UNKNOWN)
            facts->server = found.server;
        if (facts->is_attended) /* GDB has died: this is its server */
            facts->was_halted = found.was_halted;
        facts->is_attended = false;
        return true;
    }
    session->wire.lost = true;
    return error_set(error, ERROR_LINK_LOST, "%s", why.text);
}

bool gdb_mend(struct gdb_session *session, struct debugger *debugger, const struct deadline *deadline,
              struct error *error)
{
    struct error ignored = {0};
    if (!session->wire.lost)
        return true;
    if (session->mend_until.at_us == 0)
        session->mend_until = deadline_in_ms(patience_ms(MEND_MS), NULL);
    struct deadline limit = session->mend_until;
    if (deadline_passed(&limit))
        return gdb_wire_tell_lost(&session->wire, error);
    if (limit.at_us > deadline->at_us)
        limit.at_us = deadline->at_us;
    limit.cancel = NULL;
    bool back = mend_here(session, &debugger->facts, &limit, &ignored);
    /* A server with one client may not have noticed yet that the old connection is gone */
    for (struct error why = {0}; !back; error_clear(&why)) {
        back = connect_again(session, debugger, &limit, &why);
        if (!back && (session->port == 0 || !session->wire.hung_up || deadline_passed(&limit)))
            return error_copy(error, &why);
        if (!back)
            deadline_nap();
    }
    session->mended = true;
    session->running = session->asked = false;
    session->n_cached = 0;
    session->thread[0] = session->selected[0] = '\0';
    return true;
}

/* ---- the end ---- */

/* Lets the core run, and waits for as long as a belated request may take to stop it. */
static void outlast_request(struct debugger *debugger)
{
    struct deadline limit = deadline_in_ms(patience_ms(OWED_MS), NULL);
    struct debugger_stop stop;
    struct error ignored = {0};
    if (debugger->ops->go(debugger, DEBUGGER_RUN, &limit, &ignored))
        (void)debugger->ops->wait(debugger, &stop, &limit, &ignored);
}

bool gdb_clear_breakpoints(struct gdb_session *session, const struct deadline *deadline, struct error *error)
{
    for (; session->n_set > 0; session->n_set--) {
        const struct gdb_set *set = &session->set[session->n_set - 1];
        char clear[64];
        snprintf(clear, sizeof clear, "z1,%" PRIx64 ",%x", set->at, set->size);
        if (!gdb_ask(session, clear, deadline, error))
            return false;
    }
    return true;
}

/* D lets the core run on, but not with OpenOCD. Other servers with one client read nothing while it runs. */
static bool detach(struct gdb_session *session, struct debugger *debugger, struct error *error)
{
    struct deadline soon = deadline_in_ms(patience_ms(LET_GO_MS), NULL);
    struct debugger_stop stop;
    struct error why = {0}, refused = {0};
    bool runs = true;
    if (!gdb_mend(session, debugger, &soon, error))
        return false;
    if (!session->server_told && !session->running &&
        !gdb_tell_server(session, &debugger->facts, &soon, error))
        return false;
    if (!session->running && !gdb_clear_breakpoints(session, &soon, error))
        return false;
    bool by_monitor = server_row(debugger->facts.server)->resumes_by_monitor;
    if (by_monitor && !let_openocd_go(session, &runs, &soon, &refused) && refused.kind != ERROR_FAULT)
        return error_set(error, refused.kind, "OpenOCD cannot resume it");
    if (!by_monitor && session->owed && !session->running)
        outlast_request(debugger);
    if (!by_monitor && session->running && debugger->ops->interrupt(debugger, &why))
        debugger->ops->wait(debugger, &stop, &soon, &why);
    error_clear(&why);
    bool gone = gdb_ask(session, "D", &soon, &why) || session->wire.hung_up || by_monitor;
    if (refused.kind != ERROR_NONE)
        return error_copy(error, &refused);
    if (!runs)
        return error_set(error, ERROR_STATE, "it was let go, and something stopped it at once");
    return gone || error_copy(error, &why);
}

bool gdb_let_go(struct gdb_session *session, struct debugger *debugger, struct error *error)
{
    struct error why = {0};
    bool runs = session->running, done = false;
    for (int tries = 0; !done && tries < LET_GO_TRIES; tries++) {
        error_clear(&why);
        done = detach(session, debugger, &why);
        if (!done && !session->wire.lost)
            break;
    }
    if (done)
        return true;
    bool waits = session->wire.lost && !session->wire.hung_up && session->wire.fd >= 0;
    if (waits)
        tell_blindly(session, &debugger->facts);
    return error_set(error, ERROR_LINK_LOST,
                     "%s: the core %s: %s%s. A debugger's `continue` or OpenOCD's `resume` lets it run",
                     debugger->facts.name,
                     runs ? "was running and will halt at a breakpoint that is left" : "is left halted",
                     why.text, waits ? " (it was asked to let the core go, and may still do so)" : "");
}
