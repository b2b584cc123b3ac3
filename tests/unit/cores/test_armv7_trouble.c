/* The engine on an Armv7 core when the same thing goes wrong at any access: trouble_arm.h. */
#include "rig_armv7.h"

/* Another debugger's breakpoint, and everything slow. */
enum { THEIRS = 1, SLOW = 2 };

static const struct way {
    unsigned what;
    long soak, check;
} ways[] = {{0, 1, 40}, {THEIRS, 1, 40}, {SLOW, 3, 60}, {SLOW | THEIRS, 3, 60}};

#include "trouble_arm.h"

static void set_way(struct model *m, unsigned way)
{
    m->slow_itr = m->slow_exit = way & SLOW ? 3 : 0;
    if (way & THEIRS)
        model_add_theirs(m);
}

static const char *foreign_told(struct rig *rig, bool ran)
{
    bool told = ran || rig->error.kind == ERROR_FOREIGN_STOP;
    (void)rig_end(rig); /* it may be left halted */
    return rig->model.hung        ? "it hangs"
           : rig->model.corrupted ? "R0 was changed under the program"
           : rig->model.careless  ? "something unpredictable was done"
                                  : (told ? NULL : "the foreign stop is not reported");
}
