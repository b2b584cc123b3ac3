#include "links/dap/found.h"

#include "links/dap/descriptors.h"

#include <stdio.h>
#include <string.h>

void found_name(const struct dap_found *found, char *out, size_t size)
{
    snprintf(out, size, "%04x:%04x%s%s", found->vendor, found->product, found->serial[0] != '\0' ? " " : "",
             found->serial);
}

bool found_is_probe(const struct dap_found *found)
{
    /* Each unit of these is a CMSIS-DAP probe and nothing else, however it calls itself: EDBG, Atmel-ICE;
     * KitProg1 and 2, MiniProg4, KitProg3; DAPLink; Orbtrace; WCH-Link, which has another number where it
     * speaks something else; LPC-Link2, MCU-Link; Debug Probe; ULINKplus */
    static const struct {
        uint16_t vendor, product;
    } known[] = {
        {0x03EB, 0x2111}, {0x03EB, 0x2141}, {0x04B4, 0xF138}, {0x04B4, 0xF151},
        {0x04B4, 0xF152}, {0x04B4, 0xF154}, {0x04B4, 0xF155}, {0x04B4, 0xF166},
        {0x0D28, 0x0204}, {0x1209, 0x3443}, {0x1A86, 0x8011}, {0x1A86, 0x8012},
        {0x1FC9, 0x0090}, {0x1FC9, 0x0143}, {0x2E8A, 0x000C}, {0xC251, 0x2750},
    };
    bool is = found->by_hand || descriptors_name_probe(found->name);
    for (size_t i = 0; i < sizeof known / sizeof *known && !is; i++)
        is = known[i].vendor == found->vendor && known[i].product == found->product;
    return is;
}

bool found_takes_several(const struct dap_found *found, const char **words)
{
    enum { DAPLINK = 0x0204, DEBUG_PROBE = 0x000C, PICOPROBE = 0x0004 };
    /* Until 2.3.1, whichever number they announced: packets merged into one, replies with another's length */
    static const char old_debugprobe[] = "its firmware loses others before 2.3.1";
    const uint16_t first_good = 0x0231;
    *words = NULL;
    if (found->vendor == 0x0D28)
        return found->product == DAPLINK;
    if (found->vendor != 0x2E8A || (found->product != DEBUG_PROBE && found->product != PICOPROBE))
        return false;
    *words = found->release < first_good ? old_debugprobe : NULL;
    return found->release >= first_good;
}

static bool is_wanted(const struct dap_found *found, const struct dap_wish *wish)
{
    if (wish->kind != DAP_ANY && wish->kind != found->kind)
        return false;
    if (wish->by_id && (found->vendor != wish->vendor || found->product != wish->product))
        return false;
    return wish->serial[0] == '\0' || strcmp(wish->serial, found->serial) == 0;
}

/* The same probe, seen through its other interface. */
static bool is_same(const struct dap_found *a, const struct dap_found *b)
{
    return a->vendor == b->vendor && a->product == b->product && strcmp(a->serial, b->serial) == 0 &&
           a->kind != b->kind;
}

/* Whether an earlier one is the same probe. */
static bool is_again(const struct dap_found *list, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (is_same(&list[k], &list[i]))
            return true;
    return false;
}

static bool is_better(const struct dap_found *found, const struct dap_found *than)
{
    return found->problem[0] == '\0' && (found->kind == DAP_USB || than->problem[0] != '\0');
}

size_t found_merge(struct dap_found *list, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        while (same < kept && (list[same].speaks_both || !is_same(&list[same], &list[i])))
            same++;
        if (same == kept) {
            list[kept++] = list[i];
            continue;
        }
        if (is_better(&list[i], &list[same]))
            list[same] = list[i];
        list[same].speaks_both = true;
    }
    return kept;
}

const struct dap_found *found_choose(const struct dap_found *list, size_t n, const struct dap_wish *wish,
                                     struct error *error)
{
    const struct dap_found *chosen = NULL;
    char names[512] = "", name[96];
    size_t used = 0, others = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(&list[i], wish))
            continue;
        if (chosen != NULL && is_same(chosen, &list[i])) {
            chosen = is_better(&list[i], chosen) || chosen->problem[0] != '\0' ? &list[i] : chosen;
            continue;
        }
        if (wish->kind == DAP_ANY && is_again(list, i))
            continue;
        others += chosen != NULL;
        if (chosen == NULL)
            chosen = &list[i];
        found_name(&list[i], name, sizeof name);
        int more = snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", name);
        used += more > 0 && (size_t)more < sizeof names - used ? (size_t)more : 0;
    }
    if (others > 0) {
        error_set(error, ERROR_USAGE, "several probes: %s; choose one with --probe cmsis-dap:SERIAL", names);
        return NULL;
    }
    if (chosen != NULL)
        return chosen;
    for (size_t i = 0; i < n; i++) {
        if (is_again(list, i))
            continue;
        found_name(&list[i], name, sizeof name);
        int more = snprintf(names + used, sizeof names - used, "%s %s", used > 0 ? "," : "; there is", name);
        used += more > 0 && (size_t)more < sizeof names - used ? (size_t)more : 0;
    }
    if (wish->serial[0] != '\0')
        error_set(error, ERROR_NO_PROBE, "no CMSIS-DAP probe has the serial number %.64s%s", wish->serial,
                  names);
    else if (wish->by_id)
        error_set(error, ERROR_NO_PROBE, "no CMSIS-DAP probe is %04x:%04x%s", wish->vendor, wish->product,
                  names);
    else
        error_set(error, ERROR_NO_PROBE, "no CMSIS-DAP probe is plugged in");
    return NULL;
}
