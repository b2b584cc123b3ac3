/* SPDX-License-Identifier: MIT */
#include "run/survey_judge.h"

#include "base/values.h"
#include "report/comparison.h"
#include "report/terminal.h"

#include <stdio.h>
#include <stdlib.h>

static void name_ends(const struct survey_region *region, struct conditions *conditions)
{
    snprintf(conditions->start, sizeof conditions->start, "%s", region->named.start.name);
    snprintf(conditions->end, sizeof conditions->end, "%s",
             region->named.region.to_return ? "its return" : region->named.end.name);
}

/* Of the file of --baseline; NULL: it lacks this region. */
static const struct baseline *find_before(const struct survey_judge *self, const struct survey_region *region)
{
    struct conditions wanted = {0}, clean = {0};
    name_ends(region, &wanted);
    utf8_clean(clean.start, sizeof clean.start, wanted.start);
    utf8_clean(clean.end, sizeof clean.end, wanted.end);
    return runs_find(self->before, &clean);
}

/* NULL, without an error: neither run has the region. */
static json_t *compare_one(const struct survey_judge *self, const struct conditions *conditions,
                           const struct survey_region *region, size_t family, bool *ok)
{
    const struct baseline *before = find_before(self, region);
    struct baseline now = {.conditions = *conditions};
    if (before == NULL && region->summary == NULL)
        return NULL;
    name_ends(region, &now.conditions);
    bool live = region->summary == NULL || baseline_live(&now, region->summary);
    now.is_named = true;
    const struct baseline missing = runs_missing(self->before, &now.conditions);
    double threshold =
        region->line != NULL && region->line->threshold >= 0 ? region->line->threshold : self->threshold;
    struct json_part line = runs_compare(before != NULL ? before : &missing, &now, threshold, family);
    *ok = live && line.ok;
    baseline_free(&now);
    return line.json;
}

/* A hit above a budget is a fact, whatever else is judged. */
static size_t survey_family_of(const struct survey_judge *self, const struct survey_regions *regions)
{
    size_t family = 0;
    for (size_t i = 0; i < regions->n; i++) {
        const struct survey_region *region = &regions->at[i];
        family += self->checks && region->line->budget.of == BUDGET_MEAN;
        if (self->before != NULL && region->summary != NULL && find_before(self, region) != NULL)
            family += region->summary->n;
    }
    return family;
}

bool survey_judge(const struct survey_judge *self, const struct survey_regions *regions,
                  const struct conditions *conditions, struct survey *survey, struct verdict_line **budgets)
{
    size_t family = survey_family_of(self, regions);
    bool ok = true;
    *budgets = calloc(survey->n + 1, sizeof **budgets);
    if (*budgets == NULL)
        return false;
    survey->judged = self->checks || self->before != NULL;
    for (size_t i = 0; ok && i < survey->n; i++) {
        struct survey_region *region = &regions->at[i];
        struct survey_row *row = &survey->rows[i];
        if (self->before != NULL)
            row->comparison = compare_one(self, conditions, region, family, &ok);
        if (!self->checks || region->line->budget.of == BUDGET_NONE)
            continue;
        struct verdict_line *line = &(*budgets)[i];
        *line = budget_decide(&region->line->budget, region->summary, family);
        if (region->summary == NULL && region->why[0] != '\0') {
            line->verdict = VERDICT_NOT_COMPARABLE;
            snprintf(line->why, sizeof line->why, "%.380s", region->why);
        }
        if (line->verdict == VERDICT_PASS && region->named.recurs) {
            line->verdict = VERDICT_INCONCLUSIVE;
            snprintf(line->why, sizeof line->why, "a turn may have begun within a call of it");
        }
        row->budget = line;
    }
    return ok;
}
