/*
 * The rig with a modelled debugger between the target and the engine: for the tests of the debugger engine.
 */
#pragma once

#include "../model_debugger.h"
#include "rig.h"

static struct model_debugger attached;
static struct link *attached_link;

static inline void tear_down(void)
{
    rig_tear_down();
    link_close(attached_link);
    attached_link = NULL;
}

#define TIDY_TEST(name) TEST_BETWEEN(name, test_nothing, tear_down)

/* As a measurement begins; false if it is refused. */
static inline bool begin(struct rig *rig)
{
    rig->deadline = deadline_in_ms(60000, &rig->model.cancelled);
    rig->timeout_ms = 60000;
    rig->n_hits = rig->n_rehits = rig->n_left = rig->enough_after = rig->n_seen = 0;
    rig->looks = false;
    error_clear(&rig->error);
    attached_link = debugger_link_new(&attached.debugger, &rig->error);
    assert_non_null(attached_link);
    return device_open(&rig->device, attached_link, &(struct device_request){.core = -1}, &rig->deadline,
                       &rig->error) &&
           device_choose(&rig->device, -1, &rig->error) &&
           device_take(&rig->device, false, "nowhere", &rig->deadline, &rig->error) &&
           device_take_block(&rig->device, "dwt", &rig->deadline, &rig->error) &&
           (rig->engine = debugger_engine_new(&rig->device)) != NULL;
}
