/*
 * The page of survey: the regions with the largest share first, how the hits of each are distributed, the
 * verdicts, the conditions and the JSON lines.
 */
#pragma once

#include "report/page_command.h"
#include "report/page_parts.h"
#include "report/survey.h"

/* `lines` has the header. False if the output could not be written whole. */
bool survey_page(FILE *out, const struct survey *survey, struct page_lines *lines,
                 const struct page_command *command);
