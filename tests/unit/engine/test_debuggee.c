/* What a stop was that a debugger reports of an A core, if its server has read what shows resets. */
#include "../fake_link.h"
#include "../test.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "engine/debuggee.h"

enum { A9 = 0x413FC090, A53 = 0x410FD034, WANTED = 0x8000, HERE = 0x9000 };
/* DDI 0406 B1.3.3: as a reset leaves it, and as an undefined instruction does. */
enum { AT_RESET = 0x1D3, UNDEFINED = 0x1DB };

static uint64_t cpsr;

static bool debuggee_read_any(struct debugger *debugger, const char *name, uint64_t *out,
                              const struct deadline *deadline, struct error *error)
{
    (void)debugger;
    (void)deadline;
    (void)error;
    *out = strcmp(name, "pc") == 0 ? HERE : cpsr;
    return true;
}

TEST(the_cause_of_a_stop_shows_a_reset)
{
    static const struct {
        uint32_t id, cause, cpsr;
        enum error_kind kind;
    } stops[] = {
        {A9, DBGDSCR_STOPPED | MOE_VECTOR_CATCH, AT_RESET, ERROR_RESET},
        {A9, DBGDSCR_STOPPED | MOE_VECTOR_CATCH, UNDEFINED, ERROR_FOREIGN_STOP},
        {A9, DBGDSCR_STOPPED | MOE_BREAKPOINT, AT_RESET, ERROR_FOREIGN_STOP},
        {A53, EDSCR_AT_RESET, 0, ERROR_RESET},
        {A53, EDSCR_AT_BREAKPOINT, EDSCR_AT_RESET, ERROR_FOREIGN_STOP},
    };
    static const struct debugger_ops ops = {.read_register = debuggee_read_any};
    for (size_t i = 0; i < COUNT(stops); i++) {
        const uint64_t identity[ARMV8_IDENTITY] = {stops[i].id, [ARMV7_DIDR] = 0x35137030};
        struct device_core chosen = {.view = {.name = "cpu"}};
        struct fake_link fake;
        struct debugger debugger = {.ops = &ops};
        struct deadline deadline = deadline_in_ms(60000, NULL);
        struct error error = {0};
        fake_init(&fake);
        if (stops[i].id == A9)
            assert_true(armv7_identify(1, 0x80090000, identity, &chosen.core));
        else
            armv8_identify(1, 0x80410000, 0x80420000, identity, &chosen.core);
        struct device device = {.chosen = &chosen, .ledger = ledger_new(&fake.link)};
        struct debugger_engine engine = {.device = &device,
                                         .debugger = &debugger,
                                         .core = &chosen.core,
                                         .deadline = &deadline,
                                         .stop = {.why = DEBUGGER_TRAP}};
        *fake_at(&fake, core_cause_register(&chosen.core).offset) = stops[i].cause;
        cpsr = stops[i].cpsr;
        assert_fails(debuggee_confirm_stop(&engine, WANTED, &error), &error, stops[i].kind, "");
        assert_int_equal(engine.foreign_stop, stops[i].kind == ERROR_FOREIGN_STOP);
        ledger_free(device.ledger);
    }
}
