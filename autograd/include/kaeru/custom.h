/* custom.h: operations that the program defines, and what their loops use: the threads of the
 * library, and its vector code. */
#ifndef KAERU_PUBLIC_CUSTOM_H
#define KAERU_PUBLIC_CUSTOM_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* If the operations of autograd.h are not enough, write your own: a loop for forward, and one for
 * backward. For y = x^3:
 *
 *     static void forward(const AgCustomCall *c)
 *     {
 *         const ag_real *x = tensor_data(c->in[0]);
 *         ag_real *y = tensor_mutable_data(c->y);
 *         for (int64_t i = 0; i < tensor_numel(c->y); i++) {
 *             y[i] = x[i] * x[i] * x[i];
 *         }
 *     }
 *
 *     static void backward(const AgCustomCall *c)
 *     {
 *         const ag_real *x = tensor_data(c->in[0]);
 *         for (int64_t i = 0; i < tensor_numel(c->y); i++) {
 *             c->dx[0][i] += c->dy[i] * 3 * x[i] * x[i];
 *         }
 *     }
 *
 *     static const AgCustom cube = { "cube", forward, backward, AG_NEEDS_X(0),
 *                                    "x^3", "dx = dy 3 x^2" };
 *     Tensor *y = ag_custom(&cube, tensor_shape(x), (Tensor *[]){ x }, 1, NULL, 0);
 *
 * It is then an operation like the others: ag_explain explains it, ag_graph_frame draws it, and
 * ag_find_nan searches its values. Check it with ag_gradcheck. */
enum { AG_CUSTOM_INPUTS = 16 };
#define AG_NEEDS_NONE 0
#define AG_NEEDS_X(i) (1 << (i))                    /* the value of input i */
#define AG_NEEDS_Y    (1 << AG_CUSTOM_INPUTS)       /* the value of the result */
typedef struct {
    Tensor *const *in;          /* the inputs; NULL for an absent one */
    int n;
    Tensor *y;                  /* forward writes its values, which begin as zeros */
    const void *args;           /* the copy of ag_custom's `args` */
    /* For backward; in forward, both are NULL: */
    const ag_real *dy;          /* the complete gradient of y */
    ag_real *const *dx;         /* backward adds the gradient of input i to dx[i]. NULL if the input
                                   requires none */
} AgCustomCall;
typedef struct {
    const char *name;
    void (*forward)(const AgCustomCall *c), (*backward)(const AgCustomCall *c);
    int needs;                  /* the values that backward reads: AG_NEEDS_X(0) | ... To read
                                   another value is a usage error */
    const char *forward_text, *backward_text;   /* formulas for ag_explain, with inputs x, or x0,
                                                   x1, ... NULL: none */
} AgCustom;
/* Computes and records y, of that shape, from n inputs of any type, 0 to AG_CUSTOM_INPUTS. The
 * `size` bytes at `args` are copied. `op` must outlive the graph. If backward needs other values,
 * compute them before the call and pass them as an input. */
Tensor *ag_custom(const AgCustom *op, AgShape shape, Tensor *const *in, int n, const void *args,
                  size_t size);

/* ---- loops in several threads, in vectors ---------------------------------------------------- */

/* The loop of y = x e^x:
 *
 *     typedef struct { ag_real *y; const ag_real *x; } Job;
 *
 *     static void body(void *arg, int64_t begin, int64_t end)
 *     {
 *         const Job *job = (const Job *)arg;
 *         ag_array_exp(job->y + begin, job->x + begin, end - begin);
 *         for (int64_t i = begin; i < end; i++) {
 *             job->y[i] *= job->x[i];
 *         }
 *     }
 *
 *     ag_parallel(n, 4096, body, &(Job){ y, x }); */
typedef void AgBody(void *arg, int64_t begin, int64_t end);
/* Calls body(arg, begin, end) on parts that together cover 0 to n - 1, in the threads of the
 * library (ag_set_threads), and returns when all are done. A part has at least `grain` items: as
 * many as take some microseconds. With n < 2 grain, this thread computes all. A call inside a body
 * computes in one thread, too.
 *
 * The parts depend on the number of threads. For the same bits on any number, the result of an item
 * must not depend on the part that it is in: no sum over a part.
 *
 * A body reads and writes arrays, for which pointers are taken before the call. It may call the
 * functions below and the ag_math functions, but none that takes or makes a tensor. It returns: it
 * must not leave by longjmp or throw, and so it must not make an error whose handler does. */
void ag_parallel(int64_t n, int64_t grain, AgBody *body, void *arg);

#ifdef KAERU_DOUBLE                     /* see ag_real in types.h */
#pragma redefine_extname ag_array_exp ag_array_exp_double
#pragma redefine_extname ag_array_log ag_array_log_double
#pragma redefine_extname ag_array_sigmoid ag_array_sigmoid_double
#pragma redefine_extname ag_array_tanh ag_array_tanh_double
#endif
/* Set y[i] to a function of x[i], for n numbers: with the bits of ag_exp, ag_log, ag_tanh and
 * ag_sigmoid, by the same code. y may be x; else the two do not overlap. Call them for many numbers
 * at once: a call alone takes as long as some numbers. */
void ag_array_exp(ag_real *y, const ag_real *x, int64_t n);
void ag_array_log(ag_real *y, const ag_real *x, int64_t n);
void ag_array_tanh(ag_real *y, const ag_real *x, int64_t n);
void ag_array_sigmoid(ag_real *y, const ag_real *x, int64_t n);

#include "kaeru/calls/custom.h"

AG_PUBLIC_END

#endif
