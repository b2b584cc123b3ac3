/* SPDX-License-Identifier: MIT */
#include "run/profile_input.h"

#include "base/values.h"
#include "report/profile_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char unnamed[] = "No program was named to record";

static void drop_symbols(struct profile_input *input)
{
    symbols_close(input->symbols);
    free(input->elf);
    input->symbols = NULL;
    input->elf = NULL;
}

/* An ELF of another build would give wrong names: as with perf, shares are by address then. */
static void compare_builds(struct profile_input *input)
{
    const char *recorded = input->profile->about.build_id;
    const char *given = symbols_build_id(input->symbols);
    if (recorded != NULL && strcmp(recorded, given) != 0) {
        snprintf(input->no_names, sizeof input->no_names,
                 "%.200s is not the recorded program (build id %.40s, not %.40s)", input->elf,
                 given[0] != '\0' ? given : "missing", recorded);
        drop_symbols(input);
    } else if (recorded == NULL && input->profile->about.elf != NULL) {
        snprintf(input->no_names, sizeof input->no_names,
                 "The recorded program had no build id: names are wrong if %.200s is a new build",
                 input->elf);
    } else if (recorded == NULL) {
        snprintf(input->no_names, sizeof input->no_names, "%s: names are right if it was %.200s", unnamed,
                 input->elf);
    }
}

/* The program may have been another one, or have moved itself, as U-Boot and position independent ones do. */
static void look_for_samples(struct profile_input *input)
{
    uint64_t samples = 0, low = UINT64_MAX, high = 0;
    struct symbols_machine machine;
    for (size_t i = 0; i < input->profile->interval_count; i++) {
        const struct profile_interval *interval = &input->profile->intervals[i];
        for (size_t k = 0; k < interval->count_count; k++) {
            uint64_t address = interval->counts[k].address;
            if (symbols_is_code(input->symbols, address))
                return;
            low = address < low ? address : low;
            high = address > high ? address : high;
            samples += interval->counts[k].samples;
        }
    }
    symbols_machine(input->symbols, &machine);
    if (samples > 0)
        snprintf(input->no_names, sizeof input->no_names,
                 "No sample lies in the code of %.200s (%s), but at 0x%08" PRIx64 " to 0x%08" PRIx64
                 ": it is another program, or was moved (--load-offset)",
                 input->elf, machine.name, low, high);
}

/* Samples show the address, and not which overlay was there. */
static void look_for_overlays(struct profile_input *input)
{
    char sections[160], found[sizeof sections] = "", text[sizeof input->no_names] = "";
    uint64_t samples = 0;
    for (size_t i = 0; i < input->profile->interval_count; i++) {
        const struct profile_interval *interval = &input->profile->intervals[i];
        for (size_t k = 0; k < interval->count_count; k++)
            if (symbols_overlay(input->symbols, interval->counts[k].address, sections, sizeof sections)) {
                samples += interval->counts[k].samples;
                memcpy(found, sections, sizeof found);
            }
    }
    if (samples > 0)
        snprintf(text, sizeof text,
                 "%" PRIu64
                 " samples lie where the sections %s overlay each other: names and lines may be wrong",
                 samples, found);
    text_join(input->no_names, sizeof input->no_names, ". ", text);
}

static bool open_one(struct profile_input *input, const char *path, struct error *error)
{
    input->elf = strdup(path);
    if (input->elf == NULL)
        return error_memory(error);
    input->symbols = symbols_open_moved(path, input->load_offset, error);
    if (input->symbols == NULL)
        drop_symbols(input);
    else
        compare_builds(input);
    if (input->symbols == NULL)
        return false;
    look_for_samples(input);
    look_for_overlays(input);
    return true;
}

/* The recorded program under its own name in the folder of the profile, kept there on purpose. Only a build
 * ID proves that it is the one. */
static bool profile_input_open_beside(struct profile_input *input)
{
    const struct profile_about *about = &input->profile->about;
    size_t folder = (size_t)(name_of_file(input->file) - input->file);
    char path[4096], why[sizeof input->no_names];
    struct error ignored = {0};
    if (about->build_id == NULL || snprintf(path, sizeof path, "%.*s%s", (int)folder, input->file,
                                            name_of_file(about->elf)) >= (int)sizeof path)
        return false;
    memcpy(why, input->no_names, sizeof why);
    input->no_names[0] = '\0'; /* if it is found, its own remarks count */
    bool found = open_one(input, path, &ignored);
    if (!found)
        memcpy(input->no_names, why, sizeof why);
    return found;
}

static void open_recorded(struct profile_input *input)
{
    struct error missing = {0};
    const char *elf = input->profile->about.elf;
    if (elf == NULL) {
        snprintf(input->no_names, sizeof input->no_names, "%s", unnamed);
        return;
    }
    if (open_one(input, elf, &missing))
        return;
    if (missing.kind != ERROR_NONE)
        snprintf(input->no_names, sizeof input->no_names, "%.300s", missing.text);
    profile_input_open_beside(input);
}

bool profile_input_open(struct profile_input *input, const char *file, const char *elf, uint64_t load_offset,
                        const volatile sig_atomic_t *cancel, struct error *error)
{
    *input = (struct profile_input){.file = file};
    if (!profile_file_read(file, cancel, &input->profile, error))
        return false;
    input->load_offset = load_offset != 0 ? load_offset : input->profile->about.load_offset;
    if (elf == NULL)
        open_recorded(input);
    return elf == NULL || open_one(input, elf, error) || input->no_names[0] != '\0';
}

void profile_input_close(struct profile_input *input)
{
    drop_symbols(input);
    profile_file_free(input->profile);
    input->profile = NULL;
}
