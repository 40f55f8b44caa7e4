/* setup.h: what the experiment can vary besides the skip connection. */
#ifndef KAERU_EXAMPLES_SETUP_H
#define KAERU_EXAMPLES_SETUP_H

#include "kaeru/nn.h"

/* The names of one setup, and what each of them may be: for --help and for the checks. */
typedef struct { const char *init, *optimizer, *target; } Setup;
#define INITS      "default, he, xavier or small-last"
#define OPTIMIZERS "adam or sgd"
#define TARGETS    "identity, minus or matrix"
/* Rows for the options of a program (kaeru/fields.h). */
#define SETUP_OPTIONS(s) \
    NN_TEXT_OPTION("init", "NAME", (s).init, "first weights: " INITS), \
    NN_TEXT_OPTION("optimizer", "NAME", (s).optimizer, "optimizer: " OPTIMIZERS), \
    NN_TEXT_OPTION("target", "NAME", (s).target, "what the networks should return: " TARGETS)

/* Ends the program if a name is none of these. */
void setup_check(const Setup *setup);
/* The first weights of a block ReLU(x W1 + b1) W2 + b2. The layers are new, with PyTorch's default.
 * he: keeps the variance through ReLU. xavier: for layers without ReLU. small-last: W2 is 0, so f(x) = b2. */
void setup_init(const Setup *setup, Linear *fc1, Linear *fc2);
/* Adam or gradient descent; lr 0: 0.001 for Adam, 0.03 for gradient descent. */
Optimizer *setup_optimizer(const Setup *setup, void *model, double lr);
/* The setups that differ from the chosen one in one thing, with names for tables and pictures; returns how many there are. */
enum { CONTROLS = 9 };                                                  /* at most */
typedef struct { const char *name; Setup setup; } Control;
int setup_controls(const Setup *chosen, Control control[CONTROLS]);
/* What the network should return for x (N,D): x, -x, or x times a random matrix that keeps the mean square. */
Tensor *setup_target(const Setup *setup, Tensor *x);
const char *setup_target_text(const Setup *setup);                      /* "x", for messages */

#endif
