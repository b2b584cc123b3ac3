#include "debuggers/openocd_look.h"

#include <string.h>

/* The event "gdb-start" comes when the core has been resumed and GDB waits for it. Whoever has a handler for
 * it gets it back before it runs. OpenOCD serves nobody while this looks: so not for long. */
static const char once[] =
    "proc pmu_look {own theirs} {"
    "$own configure -event gdb-start $theirs; eval $theirs; set until [expr {[ms] + 30}]; "
    "while {[$own curstate] eq {running} && [ms] < $until} {"
    "foreach one [target names] {if {[$one curstate] eq {running}} {catch {$one arp_poll}}}}}; "
    "[target current] configure -event gdb-start "
    "[list pmu_look [target current] [[target current] cget -event gdb-start]]; format {}";

void openocd_look_soon(struct debugger *debugger, const struct deadline *deadline)
{
    char ignored[256];
    struct error none = {0};
    if (debugger->ops->monitor != NULL && strcmp(debugger->facts.server, "OpenOCD") == 0)
        (void)debugger->ops->monitor(debugger, once, ignored, sizeof ignored, deadline, &none);
}
