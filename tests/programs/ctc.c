/* ctc.c: connectionist temporal classification (Graves et al. 2006): a network reads frames and learns labels whose places
 * nobody tells. The loss is the sum over all ways to spread the labels over the frames, by the forward algorithm. */
#include <math.h>
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { B = 8, T = 12, D = 6, V = 5, L = 3, S = 2 * L + 1, STEPS = 100 };

static void fill(Tensor *t, double size, double speed)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_data(t)[i] = (ag_real)(size * sin(speed * (double)(i + 1)));
}

/* What is known of the labels: with a blank, label 0, before, between and behind them, S places. */
typedef struct { Tensor *label, *skips, *starts, *ends; } Targets;

static int length_of(int b) { return 1 + b % L; }
static int label_of(int b, int j) { return 1 + (b + 2 * j * j) % (V - 1); }

static Targets targets_new(void)
{
    Targets t = { tensor_ints(SHAPE(B, S), NULL), tensor_bools(SHAPE(B, S), NULL), tensor_bools(SHAPE(1, S), NULL),
                  tensor_bools(SHAPE(B, S), NULL) };
    for (int b = 0; b < B; b++) {
        for (int s = 0; s < 2 * length_of(b) + 1; s++) {    /* other labels may follow without the blank between them */
            int32_t id = s % 2 ? label_of(b, s / 2) : 0;
            tensor_mutable_int_data(t.label)[b * S + s] = id;
            tensor_mutable_bool_data(t.skips)[b * S + s] = s % 2 && s > 1 && id != label_of(b, s / 2 - 1);
            tensor_mutable_bool_data(t.ends)[b * S + s] = s >= 2 * length_of(b) - 1;
        }
    }
    tensor_mutable_bool_data(t.starts)[0] = tensor_mutable_bool_data(t.starts)[1] = 1;
    return t;
}

/* log_p (B,T,V): a[s] is the logarithm (-1e30: of 0) of the probability of all ways that are at place s after these frames. */
static Tensor *ctc_loss(Tensor *log_p, Targets t)
{
    Tensor *all = ag_gather(log_p, 2, ag_expand(ag_unsqueeze(t.label, 1), SHAPE(B, T, S)));                 /* (B,T,S) */
    Tensor *none = tensor_full(AG_SCALAR, -1e30), *outside = tensor_full(SHAPE(B, 2), -1e30), *weight = tensor_zeros(SHAPE(B));
    Tensor *a = ag_where(t.starts, ag_squeeze(ag_slice(all, 1, 0, 1), 1), none);
    for (int i = 1; i < T; i++) {
        Tensor *moved = ag_concat((Tensor *[]){ outside, a }, 2, 1);
        Tensor *from[] = { a, ag_slice(moved, 1, 1, S + 1), ag_where(t.skips, ag_slice(moved, 1, 0, S), none) };
        a = ag_add(ag_logsumexp(ag_stack(from, 3, 0), 0, false), ag_squeeze(ag_slice(all, 1, i, i + 1), 1));
    }
    for (int b = 0; b < B; b++) tensor_mutable_data(weight)[b] = (ag_real)(-1.0 / (length_of(b) * B));
    return ag_sum(ag_mul(ag_logsumexp(ag_where(t.ends, a, none), 1, false), weight));
}

/* How many rows are read right: the best label of each frame, without repetitions and blanks. */
static int read_right(Tensor *log_p)
{
    const int32_t *id = tensor_int_data(ag_argmax(log_p, -1, false));
    int right = 0;
    for (int b = 0; b < B; b++) {
        int n = 0, same = 0;
        for (int i = 0; i < T; i++, id++) {
            if (*id && (i == 0 || *id != id[-1])) same += *id == label_of(b, n++);
        }
        right += n == length_of(b) && same == n;
    }
    return right;
}

int main(void)
{
    AgScope all = ag_begin(AG_NO_GRAD);
    Sequential *net = nn_sequential_new();
    nn_sequential_add(net, nn_linear_new(D, 32));
    nn_sequential_activation(net, AG_TANH);
    nn_sequential_add(net, nn_linear_new(32, V));
    NnParameters *p = nn_parameters(net);
    for (int i = 0; i < p->n; i++) fill(p->item[i].tensor, 0.3, 1.7 + i);
    Tensor *x = tensor_zeros(SHAPE(B, T, D));
    fill(x, 0.3, 12.9898);                                  /* noise, and each label in two frames */
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < 4 * length_of(b) * D; i++) {
            double code = i / D % 4 < 2 ? sin(3.1 * label_of(b, i / (4 * D)) + 1.7 * (i % D)) : 0;
            tensor_mutable_data(x)[b * T * D + i] += (ag_real)code;
        }
    }
    Targets t = targets_new();
    Optimizer *adam = nn_adam_new(net, 0.02);
    for (int step = 1; step <= STEPS; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *log_p = ag_log_softmax(nn_sequential(net, x), -1), *loss = ctc_loss(log_p, t);
        ag_backward(loss);
        if (step == 1) printf("norm of the first gradient %.6f\n", nn_grad_norm(net));
        if (step == 1 || step == 20 || step == STEPS) printf("loss at step %d: %.6f\n", step, tensor_item(loss));
        if (step == STEPS) printf("rows read right: %d\n", read_right(log_p));
        nn_optimizer_step(adam);
        ag_end(scope);
    }
    ag_free(p);
    ag_free(adam);
    ag_free(net);
    ag_end(all);
    return 0;
}
