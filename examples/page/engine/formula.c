/* formula.c: the graph of a formula, its backward pass, and the check of its gradients. */
#include <string.h>

#include "engine.h"

/* The script has parsed the formula. A line of its text is a number or an operation on the results of earlier lines:
 *     leaf NAME VALUE        requires a gradient
 *     constant NAME VALUE
 *     OPERATION I J NAME     of lines I and J, from 0; J is ignored by operations of one number. NAME - is none
 * The last line is the result. */
enum { MOST_LINES = 64, NAME = 24 };
typedef struct { char op[NAME], name[NAME]; int in[2]; double value; bool leaf, trained; } Line;
typedef struct { Line line[MOST_LINES]; int n; } Formula;

static const struct { const char *name; Tensor *(*f)(Tensor *x); } unary[] = {
    { "neg", ag_neg }, { "tanh", ag_tanh }, { "exp", ag_exp }, { "log", ag_log }, { "sqrt", ag_sqrt },
    { "sigmoid", ag_sigmoid }, { "relu", ag_relu }, { "sin", ag_sin }, { "cos", ag_cos },
};
static const struct { const char *name; Tensor *(*f)(Tensor *a, Tensor *b); } binary[] = {
    { "add", ag_add }, { "sub", ag_sub }, { "mul", ag_mul }, { "div", ag_div },
    { "pow", ag_pow },
};
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

static void read_formula(Formula *f)
{
    for (const char *p = the_text(); *p && f->n < MOST_LINES; f->n++) {
        Line *l = &f->line[f->n];
        sscanf(p, "%23s", l->op);
        l->trained = strcmp(l->op, "leaf") == 0;
        l->leaf = l->trained || strcmp(l->op, "constant") == 0;
        if (l->leaf)
            sscanf(p, "%*s %23s %lf", l->name, &l->value);
        else
            sscanf(p, "%*s %d %d %23s", &l->in[0], &l->in[1], l->name);
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
}

static Tensor *operation(const Line *l, Tensor **made)
{
    for (int i = 0; i < COUNT(unary); i++)
        if (strcmp(l->op, unary[i].name) == 0) return AG_CALL_POINTER(Tensor *, unary[i].f(made[l->in[0]]));
    for (int i = 0; i < COUNT(binary); i++)
        if (strcmp(l->op, binary[i].name) == 0)
            return AG_CALL_POINTER(Tensor *, binary[i].f(made[l->in[0]], made[l->in[1]]));
    ag_usage_error("formula", "there is no operation %s", l->op);
}

/* The result of the formula; `in` are its leaves, in order. */
static Tensor *compute(Tensor **in, void *arg)
{
    const Formula *f = arg;
    Tensor *made[MOST_LINES] = { NULL };
    for (int i = 0, leaves = 0; i < f->n; i++) {
        const Line *l = &f->line[i];
        made[i] = l->leaf ? in[leaves++] : operation(l, made);
        if (!l->leaf && strcmp(l->name, "-") != 0)
            tensor_name(made[i], l->name);
    }
    return made[f->n - 1];
}

/* The derivative by one leaf, from two values of the result: a central difference. */
static double slope(Formula *f, Tensor **in, Tensor *x)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    const ag_real h = (ag_real)0.01, before = *tensor_data(x);
    *tensor_mutable_data(x) = before + h;
    double up = tensor_item(compute(in, f)), above = (double)*tensor_data(x);
    *tensor_mutable_data(x) = before - h;
    double down = tensor_item(compute(in, f)), below = (double)*tensor_data(x);
    *tensor_mutable_data(x) = before;
    ag_end(scope);
    return (up - down) / (above - below);
}

/* Prints {nodes, steps, slopes: [{name, slope}], agree}. */
void EXPORT(formula_trace)(void)
{
    Formula f = { .n = 0 };
    read_formula(&f);
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *in[MOST_LINES];
    int n = 0;
    for (int i = 0; i < f.n; i++)
        if (f.line[i].leaf) {
            in[n] = tensor_name(tensor_full(AG_SCALAR, f.line[i].value), f.line[i].name);
            tensor_set_requires_grad(in[n++], f.line[i].trained);
        }
    printf("{\"slopes\":[");
    for (int i = 0, k = 0; i < n; i++)
        if (tensor_requires_grad(in[i])) {
            printf("%s{\"name\":\"%s\",\"slope\":", k++ ? "," : "", tensor_get_name(in[i]));
            json_number(slope(&f, in, in[i]));
            printf("}");
        }
    printf("],");
    json_trace(compute(in, &f));
    printf(",\"agree\":%s}", ag_gradcheck(compute, &f, in, n, NULL) ? "true" : "false");
    ag_end(scope);
}
