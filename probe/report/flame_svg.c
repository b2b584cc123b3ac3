#include "report/flame_svg.h"

#include "base/values.h"
#include "report/html.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>

enum { FRAME_HEIGHT = 18, COLOURS = 6, NAME = 512 };
/* Of the whole: what is narrower cannot be seen, nor reached by keys. */
static const double seen = 0.0001, reached = 0.005;

/* The same for a function wherever it is. */
static unsigned colour_of(const char *name)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    return (hash >> 8) % COLOURS;
}

static void name_frame(const struct flame_svg *svg, const struct flame_frame *frame, char *out, size_t room)
{
    const struct stack_place *place = &svg->stacks->places[frame->place];
    if (frame->kind == FLAME_ALL)
        snprintf(out, room, "all");
    else if (frame->kind == FLAME_CORE)
        snprintf(out, room, "core %u %.60s", profile_core_number(svg->about, frame->core),
                 svg->about->cores[frame->core] != NULL ? svg->about->cores[frame->core] : "");
    else if (frame->kind == FLAME_LINE)
        snprintf(out, room, "%.400s:%u", place->file != NULL ? place->file : "", place->line);
    else
        snprintf(out, room, "%s", svg->stacks->functions[place->function].name);
}

static void put_class(FILE *out, const struct flame_svg *svg, const struct flame_frame *frame)
{
    const struct stack_place *place = &svg->stacks->places[frame->place];
    bool state = frame->kind == FLAME_FUNCTION && place->state != PROFILE_STATES;
    if (frame->kind == FLAME_ALL || frame->kind == FLAME_CORE)
        fputs("f a", out);
    else if (state)
        fputs("f s", out);
    else
        fprintf(out, "f c%u%s", colour_of(svg->stacks->functions[place->function].name),
                frame->kind == FLAME_LINE ? " l" : "");
}

static void flame_svg_put_frame(FILE *out, const struct flame_svg *svg, const struct flame_frame *frame)
{
    char name[NAME];
    name_frame(svg, frame, name, sizeof name);
    fputs("<svg class=\"", out);
    put_class(out, svg, frame);
    fprintf(out, "\" x=\"%.5f%%\" y=\"%u\" width=\"%.5f%%\" height=\"%d\"", frame->x * 100,
            (svg->flame->depth - frame->depth) * FRAME_HEIGHT, frame->width * 100, FRAME_HEIGHT);
    if (frame->width >= reached)
        fputs(" tabindex=\"0\" role=\"button\"", out);
    fputs("><title>", out);
    html_text(out, name);
    fprintf(out, ", %.2f %%, %s sample%s</title><rect width=\"100%%\" height=\"100%%\"/>", frame->width * 100,
            NUMBER(frame->samples), PLURAL(frame->samples));
    fputs("<text x=\"4\" y=\"13\">", out);
    html_text(out, name);
    fputs("</text></svg>\n", out);
}

size_t flame_svg(FILE *out, const struct flame_svg *svg)
{
    const struct flame *flame = svg->flame;
    size_t left_out = 0;
    fprintf(
        out,
        "<svg id=\"flame\" role=\"group\" aria-label=\"Flame graph: each frame is as wide as its share of "
        "all samples; the tables below have the same numbers\" width=\"100%%\" height=\"%u\">\n",
        (flame->depth + 1) * FRAME_HEIGHT);
    for (size_t i = 0; i < flame->n; i++)
        if (flame->frames[i].width >= seen)
            flame_svg_put_frame(out, svg, &flame->frames[i]);
        else
            left_out++;
    fputs("</svg>\n", out);
    return left_out;
}
