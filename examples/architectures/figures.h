/* figures.h: the drawings of the program architectures, as boxes and arrows. */
#ifndef KAERU_EXAMPLES_FIGURES_H
#define KAERU_EXAMPLES_FIGURES_H

enum { MOST_BOXES = 32, MOST_ARROWS = 48 };
/* kind: the color: 'a'ttention, 'f'eed-forward, 'n'orm and addition, 'e'mbedding, 'r'ecurrent, 'o'utput, 't'ext without a
 * frame, a 'g'roup of layers. `function` is in `file`; NULL: none is named. A text has no `file`. */
typedef struct { char kind; const char *id, *label, *function, *file; } Box;
/* label: the shape; style: attributes of Graphviz, or NULL */
typedef struct { const char *from, *to, *label, *style; } Arrow;
/* `rows`: other statements of Graphviz, such as boxes in one row. Without a title, it is a picture for a slide (--slide), with
 * large letters. */
typedef struct { const char *name, *title, *rows; Box box[MOST_BOXES]; Arrow arrow[MOST_ARROWS]; } Figure;
extern const Figure figures[];
extern const int figure_count;

#endif
