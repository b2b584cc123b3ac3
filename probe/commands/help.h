/*
 * Help: made of the tables of commands and options, in 80 columns.
 */
#pragma once

#include <stdio.h>

void help_print(FILE *out);                     /* --help: all of it */
void help_command(FILE *out, const char *name); /* help NAME, NAME --help */
void help_usage(FILE *out);                     /* for somebody who types nothing but the name */
