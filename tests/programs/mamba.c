/* mamba.c: a selective state space (Gu and Dao 2023): h[t] = exp(dt[t] A) h[t-1] + dt[t] x[t] B[t], y[t] = C[t] h[t], where dt,
 * B and C depend on x: a state forgets or keeps what it reads. The network learns to tell the last marked token. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <kaeru/kaeru.h>

enum { BATCH = 16, T = 16, TOKENS = 6, W = 16, E = 16, N = 4, STEPS = 60 };                 /* width, inner width, state */

typedef struct { Module module; Embedding *embed; Linear *in, *dt, *bc, *out; Tensor *log_a; } Net;

static void fill(Tensor *t, double size, double speed)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_data(t)[i] = (ag_real)(size * sin(speed * (double)(i + 1)));
}

/* The scan, a rule of its own: a, u (B,T,E,N), c (B,T,N): h = a h + u, y = c h (B,T,E). */
static void forward(const AgCustomCall *call)
{
    const ag_real *a = tensor_data(call->in[0]), *u = tensor_data(call->in[1]), *c = tensor_data(call->in[2]);
    ag_real *y = tensor_mutable_data(call->y), h[E * N];
    for (int64_t i = 0; i < tensor_dim(call->y, 0) * T; i++, a += E * N, u += E * N, c += N, y += E) {
        for (int k = 0; k < E * N; k++) {
            h[k] = i % T ? a[k] * h[k] + u[k] : u[k];
            y[k / N] += c[k % N] * h[k];
        }
    }
}

/* The gradient of h[t] is what y[t] gives, and a[t+1] times that of h[t+1]. */
static void backward(const AgCustomCall *call)
{
    const ag_real *a = tensor_data(call->in[0]), *u = tensor_data(call->in[1]), *c = tensor_data(call->in[2]);
    int64_t rows = tensor_dim(call->y, 0) * T;
    ag_real *h = calloc((size_t)(rows * E * N), sizeof *h), dh[E * N];
    for (int64_t j = 0; j < rows * E * N; j++) h[j] = j / (E * N) % T ? a[j] * h[j - E * N] + u[j] : u[j];
    for (int64_t i = rows - 1; i >= 0; i--) {
        for (int k = 0; k < E * N; k++) {
            int64_t j = i * E * N + k;
            ag_real dy = call->dy[i * E + k / N];
            dh[k] = dy * c[i * N + k % N] + (i % T == T - 1 ? 0 : a[j + E * N] * dh[k]);
            if (call->dx[0] && i % T) call->dx[0][j] += dh[k] * h[j - E * N];
            if (call->dx[1]) call->dx[1][j] += dh[k];
            if (call->dx[2]) call->dx[2][i * N + k % N] += dy * h[j];
        }
    }
    free(h);
}

static const AgCustom scan = { .name = "scan", .forward = forward, .backward = backward,
                               .needs = AG_NEEDS_X(0) | AG_NEEDS_X(1) | AG_NEEDS_X(2) };

static Tensor *net(Net *n, Tensor *ids)                     /* (B,T) -> (B,T,TOKENS) */
{
    Tensor *x = ag_silu(nn_linear(n->in, nn_embedding(n->embed, ids))), *dt = ag_softplus(nn_linear(n->dt, x)), *bc[2];
    ag_split(nn_linear(n->bc, x), 2, -1, bc);
    Tensor *a = ag_exp(ag_mul(ag_unsqueeze(dt, -1), ag_neg(ag_exp(n->log_a))));
    Tensor *u = ag_mul(ag_unsqueeze(ag_mul(dt, x), -1), ag_unsqueeze(bc[0], 2));
    return nn_linear(n->out, ag_custom(&scan, tensor_shape(x), (Tensor *[]){ a, u, bc[1] }, 3, NULL, 0));
}

int main(void)
{
    AgScope all = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_ints(SHAPE(BATCH, T), NULL), *target = tensor_ints(SHAPE(BATCH, T), NULL);
    for (int i = 0; i < BATCH * T; i++) {                       /* mostly blanks, 0; the target is the last other token */
        int id = i % T && (i * i + i / T) % 5 ? 0 : 1 + (3 * i + i / T) % (TOKENS - 1);
        tensor_mutable_int_data(ids)[i] = id;
        tensor_mutable_int_data(target)[i] = id ? id : tensor_int_data(target)[i - 1];
    }
    Net *n = nn_new(Net);
    nn_child(n, embed, nn_embedding_new(TOKENS, W));
    nn_child(n, in, nn_linear_new(W, E));
    nn_child(n, dt, nn_linear_new(E, E));
    nn_child(n, bc, nn_linear_new(E, 2 * N));
    nn_child(n, out, nn_linear_new(E, TOKENS));
    nn_param(n, log_a, SHAPE(E, N));
    NnParameters *p = nn_parameters(n);
    for (int i = 0; i < p->n; i++) fill(p->item[i].tensor, 0.5, 1.7 + i);
    Optimizer *adam = nn_adam_new(n, 0.01);
    for (int step = 1; step <= STEPS; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *loss = nn_cross_entropy(net(n, ids), target);
        ag_backward(loss);
        if (step == 1) printf("norm of the first gradient %.6f\n", nn_grad_norm(n));
        if (step == 1 || step == 20 || step == STEPS) printf("loss at step %d: %.6f\n", step, tensor_item(loss));
        nn_optimizer_step(adam);
        ag_end(scope);
    }
    ag_free(p);
    ag_free(adam);
    ag_free(n);
    ag_end(all);
    return 0;
}
