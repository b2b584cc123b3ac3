#include "report/page_command.h"

#include "report/html.h"

#include <string.h>

/* As a POSIX shell reads it back. */
static void page_command_put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        html_text(out, word);
        return;
    }
    html_text(out, "'");
    for (const char *at = word; *at != '\0';) {
        char piece[256];
        size_t length = strcspn(at, "'");
        if (length >= sizeof piece)
            length = sizeof piece - 1;
        memcpy(piece, at, length);
        piece[length] = '\0';
        html_text(out, piece);
        at += length;
        if (*at == '\'') {
            html_text(out, "'\\''");
            at++;
        }
    }
    html_text(out, "'");
}

void page_repeat(FILE *out, const struct page_command *command)
{
    fputs("<section aria-labelledby=\"repeat\">\n<h2 id=\"repeat\">To repeat it</h2>\n", out);
    fputs("<pre class=\"command\">", out);
    if (command->probe != NULL) {
        fputs("PMU_PROBE=", out);
        page_command_put_word(out, command->probe);
        fputc(' ', out);
    }
    fputs("pmu-probe", out);
    for (int i = 1; i < command->n; i++) {
        fputc(' ', out);
        page_command_put_word(out, command->words[i]);
    }
    fputs("</pre>\n", out);
    if (command->has_conf)
        html_element(out, "p", "faint", "Settings of a pmu-probe.conf count, too.");
    fputs("</section>\n", out);
}
