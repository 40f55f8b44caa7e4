/* parameters.h: the part of the program feed_forward that counts parameters. */
#ifndef KAERU_EXAMPLES_PARAMETERS_H
#define KAERU_EXAMPLES_PARAMETERS_H

/* Prints the summary of an encoder layer and a table, and writes feed_forward_parameters.csv. */
void show_parameters(void);

#endif
