#include "device/snapshot.h"

static const char counts[] = "it counts on", status[] = "status, which changes while the core runs",
                  sticky[] = "sticky flags: a stop sets them, and a read clears them";

static struct snapshot_item *snapshot_find(struct snapshot *snapshot, struct address at)
{
    for (size_t i = 0; i < snapshot->n; i++)
        if (address_same(snapshot->items[i].at, at))
            return &snapshot->items[i];
    return NULL;
}

static struct snapshot_item *snapshot_add(struct snapshot *snapshot, struct address at, uint64_t promised,
                                          const char *moves)
{
    struct snapshot_item *item = snapshot_find(snapshot, at);
    if (item != NULL && item->moves == counts)
        return item;
    if (item == NULL) {
        if (snapshot->n == SNAPSHOT_ROOM) {
            snapshot->cut = true;
            return NULL;
        }
        item = &snapshot->items[snapshot->n++];
        *item = (struct snapshot_item){.at = at};
    }
    item->promised |= promised;
    item->moves = moves;
    return item;
}

static void add_restored(struct snapshot *snapshot, struct address at, const struct restore *restore)
{
    if (restore->how == RESTORE_CLEAR_NEW)
        (void)snapshot_add(snapshot, at, 0, sticky);
    else
        (void)snapshot_add(snapshot, at, restore->mask != 0 ? restore->mask : UINT64_MAX, status);
}

/* A register that is only written is shown by the one that is tested. */
static void snapshot_add_setting(struct snapshot *snapshot, const struct setting *setting)
{
    bool nothing = setting->test == 0 && setting->set == 0 && !setting->always && !setting->only_held;
    if (setting->only_watched)
        return;
    if (setting->test_at.size == 0) {
        if (nothing)
            (void)snapshot_add(snapshot, setting->at, 0, sticky);
        else
            add_restored(snapshot, setting->at, &setting->restore);
        return;
    }
    (void)snapshot_add(snapshot, setting->test_at, setting->test, sticky);
    struct snapshot_item *written = snapshot_add(snapshot, setting->at, 0, status);
    if (written != NULL)
        written->indirect = true;
}

static void snapshot_add_core(struct snapshot *snapshot, const struct core *core)
{
    struct setting settings[CORE_SETTINGS], on = core_comparators_on(core);
    struct core_stops stops = {.n = 0};
    struct core either = *core;
    for (int i = 0; i < 2; i++) {
        either.resets = i == 0 ? RESETS_CAUGHT : RESETS_NOTICED;
        size_t n = core_settings(&either, settings, CORE_SETTINGS);
        for (size_t k = 0; k < n; k++)
            snapshot_add_setting(snapshot, &settings[k]);
    }
    snapshot_add_setting(snapshot, &on);
    for (unsigned n = 0; n < core->comparators; n++)
        for (unsigned word = 0; word < core_comparator_words(core); word++)
            (void)snapshot_add(snapshot, core_comparator(core, n, word), UINT64_MAX, status);
    core_add_first_stops(core, false, &stops);
    for (size_t i = 0; i < stops.n; i++)
        (void)snapshot_add(snapshot, stops.items[i].at, stops.items[i].field, status);
}

void snapshot_list(struct snapshot *snapshot, const struct device *device, const struct counter_block *block)
{
    const struct core *core = &device->chosen->core;
    *snapshot = (struct snapshot){0};
    for (size_t i = 0; block != NULL && i < block->n; i++) {
        (void)snapshot_add(snapshot, block->counters[i].low, 0, counts);
        if (block->counters[i].high.size != 0)
            (void)snapshot_add(snapshot, block->counters[i].high, 0, counts);
    }
    for (size_t i = 0; block != NULL && i < block->n_settings; i++)
        snapshot_add_setting(snapshot, &block->settings[i]);
    if (core_has_run_control(core))
        snapshot_add_core(snapshot, core);
}

bool snapshot_read(struct snapshot *snapshot, struct ledger *ledger, const struct deadline *deadline,
                   struct error *error)
{
    for (size_t i = 0; i < snapshot->n; i++) {
        struct snapshot_item *item = &snapshot->items[i];
        struct error refused = {0};
        if (item->indirect || item->known || item->at.space != SPACE_MEMORY)
            continue;
        item->known = ledger_read(ledger, item->at, &item->value, deadline, &refused);
        if (!item->known && refused.kind != ERROR_FAULT && refused.kind != ERROR_ASLEEP)
            return error_copy(error, &refused);
    }
    return true;
}

/* What may stay on at the end, and the registers of the same counter with it, are not promised. */
static void exempt(struct snapshot *snapshot, const struct ledger *ledger, struct address on, uint64_t starts)
{
    struct address at;
    struct restore restore;
    uint64_t old;
    for (size_t i = 0; starts != 0 && i < ledger_held(ledger); i++) {
        struct snapshot_item *item =
            ledger_entry(ledger, i, &at, &restore, &old) ? snapshot_find(snapshot, at) : NULL;
        if (item != NULL && address_same(at, on))
            item->promised &= ~starts;
        else if (item != NULL && restore.exact != 0 && ledger_same_page(at, on))
            item->promised = 0;
    }
}

void snapshot_add_held(struct snapshot *snapshot, const struct ledger *ledger)
{
    struct address at;
    struct restore restore;
    uint64_t old;
    for (size_t i = 0; i < ledger_held(ledger); i++) {
        if (!ledger_entry(ledger, i, &at, &restore, &old))
            continue;
        struct snapshot_item *item = snapshot_find(snapshot, at);
        if (item == NULL) {
            add_restored(snapshot, at, &restore);
            item = snapshot_find(snapshot, at);
        }
        exempt(snapshot, ledger, at, restore.starts);
        if (item == NULL || item->known || item->indirect)
            continue;
        item->value = old;
        item->known = true;
    }
}

void snapshot_copy_list(struct snapshot *out, const struct snapshot *from)
{
    *out = *from;
    for (size_t i = 0; i < out->n; i++)
        out->items[i].known = false;
}

bool snapshot_is_complete(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n; i++)
        if (!snapshot->items[i].known && !snapshot->items[i].indirect)
            return false;
    return true;
}

enum snapshot_finding snapshot_compare(const struct snapshot *before, const struct snapshot *after, size_t i)
{
    const struct snapshot_item *was = &before->items[i], *is = &after->items[i];
    if (!was->known || !is->known)
        return SNAPSHOT_UNKNOWN;
    uint64_t changed = was->value ^ is->value;
    if (changed == 0)
        return SNAPSHOT_SAME;
    return (changed & was->promised) != 0 ? SNAPSHOT_LEFT : SNAPSHOT_MOVED;
}
