/* Which components of a chip count as a trace buffer. */
#include "base/arm_debug.h"
#include "fake_link.h"
#include "test.h"
#include "trace/trace.h"

enum { BASE = 0xE0043000, ARM = 0x43B, DEVID = BASE + COMPONENT_DEVID };

/* Whether a component of this kind, the only one of the chip, is taken. */
static bool is_taken(struct component component, uint32_t devid)
{
    static struct fake_link fake;
    static struct device_bus bus;
    static struct device device;
    static struct trace trace;
    struct device_core core = {.has_memory = true};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    char where[sizeof trace.where];
    fake_init(&fake);
    *fake_at(&fake, DEVID) = devid;
    component.base = BASE;
    bus = (struct device_bus){.coresight = {.components = {component}, .n = 1}};
    device = (struct device){.link = &fake.link, .chosen = &core, .buses = &bus, .n_buses = 1};
    device.ledger = ledger_new(&fake.link);
    trace = (struct trace){.device = &device};
    bool found = trace_etf.find(&trace, where, &deadline);
    assert_true(!found || trace.etf.base == BASE);
    ledger_free(device.ledger);
    return found;
}

/* ETF and ETB by their part numbers: CoreSight SoC-400's, and SoC-600's two. An ETR, which says so in DEVID,
 * writes to the program's memory. */
TEST(a_trace_buffer_is_known_by_its_part)
{
    static const uint16_t parts[] = {0x961, 0x9E9, 0x9EA};
    for (size_t i = 0; i < COUNT(parts); i++) {
        const struct component tmc = {
            .readable = true, .class = CLASS_CORESIGHT, .designer = ARM, .part = parts[i]};
        struct component other = tmc;
        assert_true(is_taken(tmc, 0));
        assert_true(is_taken(tmc, 2 << 6));
        assert_false(is_taken(tmc, 1 << 6));
        other.designer = 0x020;
        assert_false(is_taken(other, 0));
        other = tmc;
        other.part = 0x9EC;
        assert_false(is_taken(other, 0));
        other = tmc;
        other.readable = false;
        assert_false(is_taken(other, 0));
    }
}
