/* picture.h: what pictures by gnuplot (picture.c) and by Graphviz (graphs.c) share. */
#ifndef KAERU_EXAMPLES_PICTURE_H
#define KAERU_EXAMPLES_PICTURE_H

#include <stdbool.h>

typedef enum { DRAWN, NOT_INSTALLED, NOT_DRAWN } Drawing;
/* Draws NAME.png (unless the program cannot) and NAME.svg from that source. If that fails, calls example_complain, but only
 * once for a program that cannot be started. */
Drawing picture_run(const char *const argv[], const char *source, const char *name);
/* The full path of plots/NAME.TYPE, since gnuplot runs in another folder; free it. NULL, after a message, if it is missing. */
char *picture_file(const char *name, const char *type);
/* Whether this program has come to a picture for a slide, NAME_slide. */
bool picture_has_slide(void);
void print_quoted(const char *text);                        /* a text, quoted for the shell */

#endif
