/* flow.c: a normalizing flow (Dinh et al. 2017): couplings that can be inverted turn a normal distribution into two moons. The
 * logarithm of a point's density is that of the normal one, plus that of how much the couplings stretch space there. */
#include <math.h>
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { N = 256, HIDDEN = 32, COUPLINGS = 6, STEPS = 400 };
static const double pi = 3.14159265358979323846;

typedef struct { Module module; Linear *in, *out; bool flip; } Coupling;

static void fill(Tensor *t, double size, double speed)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_data(t)[i] = (ag_real)(size * sin(speed * (double)(i + 1)));
}

static ModuleList *flow_new(void)
{
    ModuleList *f = nn_list_new();
    for (int i = 0; i < COUPLINGS; i++) {
        Coupling *c = nn_new(Coupling);
        nn_child(c, in, nn_linear_new(1, HIDDEN));
        nn_child(c, out, nn_linear_new(HIDDEN, 2));
        c->flip = i % 2;
        nn_list_add(f, c);
    }
    return f;
}

/* From points (n,2) to noise, or back. One half stays; a network makes of it how the other one is scaled and moved. */
static Tensor *flow(ModuleList *f, Tensor *z, bool back, Tensor **log_det)
{
    *log_det = tensor_zeros(SHAPE(tensor_dim(z, 0), 1));
    for (int k = 0; k < f->n; k++) {
        Coupling *c = nn_item(Coupling, f, back ? f->n - 1 - k : k);
        Tensor *part[2], *scale_move[2];
        ag_split(z, 2, -1, part);
        Tensor *same = part[c->flip], *moved = part[!c->flip];
        ag_split(nn_linear(c->out, nn_linear_activate(c->in, same, AG_TANH)), 2, -1, scale_move);
        Tensor *s = ag_tanh(scale_move[0]);
        Tensor *move = scale_move[1];
        moved = back ? ag_mul(ag_sub(moved, move), ag_exp(ag_neg(s))) : ag_add(ag_mul(moved, ag_exp(s)), move);
        *log_det = back ? ag_sub(*log_det, s) : ag_add(*log_det, s);
        z = ag_concat((Tensor *[]){ c->flip ? moved : same, c->flip ? same : moved }, 2, -1);
    }
    return z;
}

static Tensor *loss_of(ModuleList *f, Tensor *points)
{
    Tensor *log_det, *z = flow(f, points, false, &log_det);
    Tensor *log_normal = ag_add_scalar(ag_scale(ag_sum_dims(ag_mul(z, z), DIMS(-1), true), -0.5), -log(2 * pi));
    return ag_neg(ag_mean(ag_add(log_normal, log_det)));
}

/* The sum of the logarithms against that of the Jacobian's determinant, of one point. */
static double determinant_error(ModuleList *f)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *x = tensor_from(SHAPE(1, 2), (ag_real[]){ (ag_real)0.3, (ag_real)-0.8 }), *det, *row[2];
    Tensor *y = flow(f, tensor_set_requires_grad(x, true), false, &det);
    for (int i = 0; i < 2; i++) ag_grad(ag_sum(ag_slice(y, 1, i, i + 1)), &x, 1, &row[i]);
    const ag_real *a = tensor_data(row[0]), *b = tensor_data(row[1]);
    double error = fabs(tensor_item(det) - log(fabs((double)a[0] * (double)b[1] - (double)a[1] * (double)b[0])));
    ag_end(scope);
    return error;
}

int main(void)
{
    AgScope all = ag_begin(AG_NO_GRAD);
    ModuleList *f = flow_new();
    NnParameters *p = nn_parameters(f);
    for (int i = 0; i < p->n; i++) fill(p->item[i].tensor, 0.3, 1.7 + i);
    Tensor *points = tensor_zeros(SHAPE(N, 2)), *log_det;
    for (int i = 0; i < N; i++) {
        double angle = pi * i / N, side = i % 2, noise = 0.05 * sin(12.9898 * i);
        tensor_mutable_data(points)[2 * i] = (ag_real)(cos(angle) * (1 - 2 * side) + side + noise);
        tensor_mutable_data(points)[2 * i + 1] = (ag_real)(sin(angle) * (1 - 2 * side) + side / 2 - noise);
    }
    Optimizer *adam = nn_adam_new(f, 0.005);
    for (int step = 1; step <= STEPS; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *loss = loss_of(f, points);
        ag_backward(loss);
        if (step == 1) printf("norm of the first gradient %.6f\n", nn_grad_norm(f));
        if (step == 1 || step == 20 || step == STEPS) printf("loss at step %d: %.6f\n", step, tensor_item(loss));
        nn_optimizer_step(adam);
        ag_end(scope);
    }
    Tensor *again = flow(f, flow(f, points, false, &log_det), true, &log_det);
    printf("difference of points after there and back %g\n", tensor_item(ag_max(ag_abs(ag_sub(again, points)))));
    printf("difference from the Jacobian %g\n", determinant_error(f));
    ag_free(p);
    ag_free(adam);
    ag_free(f);
    ag_end(all);
    return 0;
}
