#include "cores/armv7_context.h"

#include "cores/armv7_coprocessor.h"
#include "cores/armv7_transfer.h"

enum { CPSR_MODE = 0x1F, CPSR_USER = 0x10 }; /* DDI 0406C B1.3.1 */

enum { CTX_CMPS = 20, CTX_CMPS_MASK = 0xF }; /* DBGDIDR, DDI 0406C C11.11: so many and one */

unsigned armv7_context_comparators(uint32_t didr)
{
    return (didr >> CTX_CMPS & CTX_CMPS_MASK) + 1;
}

size_t armv7_add_mode(const struct core *core, struct steps *list)
{
    return armv7_add_register(core, list, CORE_STATUS);
}

bool armv7_in_user_mode(const struct core *core, uint64_t mode)
{
    (void)core;
    return (mode & CPSR_MODE) == CPSR_USER;
}

/* User mode cannot read it. */
size_t armv7_add_context(const struct core *core, struct steps *list)
{
    const struct step read = step_read(cp15_register(13, 0, 0, 1)); /* CONTEXTIDR, DDI 0406C B4.1 */
    size_t at;
    armv7_add_coprocessor(core, list, &read, 1, true, &at);
    return at;
}
