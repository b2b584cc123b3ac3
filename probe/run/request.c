#include "run/request.h"

#include "base/error.h"
#include "report/terminal.h"

#include <stdarg.h>
#include <stdio.h>

void request_note(const struct request *request, const char *format, ...)
{
    char text[sizeof((struct error *)NULL)->text + 256], clean[UTF8_CLEAN_ROOM(sizeof text)];
    va_list arguments;
    if (request->quiet)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "pmu-probe: %s\n", terminal_text(clean, sizeof clean, text));
}
