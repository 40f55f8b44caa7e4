/* skip_connection.c: why the blocks of a Transformer add their input to their output. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"
#include "skip_connection/report.h"
#include "skip_connection/setup.h"

enum { WIDTH = 10 };
static int64_t steps = 100, rows = 10000, deep_rows = 2000, hidden = 128, depth = 0, seeds = 3;
static double lr = 0;
static bool controls = false;
static Setup chosen = { "default", "adam", "identity" };

typedef struct { Module module; Linear *fc1, *fc2; } FFN;

static FFN *ffn_new(const Setup *setup)
{
    FFN *f = nn_new(FFN);
    nn_child(f, fc1, nn_linear_new(WIDTH, hidden));
    nn_child(f, fc2, nn_linear_new(hidden, WIDTH));
    setup_init(setup, f->fc1, f->fc2);
    return f;
}

/* f(x) = ReLU(x W1 + b1) W2 + b2: (N,D) -> (N,D) */
static Tensor *ffn(FFN *f, Tensor *x)
{
    return nn_linear(f->fc2, nn_linear_activate(f->fc1, x, AG_RELU));
}

typedef struct { Module module; ModuleList *blocks; bool skip; } Stack;

static Stack *stack_new(const Setup *setup, int64_t n, bool skip)
{
    Stack *s = nn_new(Stack);
    s->skip = skip;
    nn_child(s, blocks, nn_list_new());
    for (int64_t i = 0; i < n; i++) {
        nn_list_add(s->blocks, ffn_new(setup));
    }
    return s;
}

/* Each block computes f(x), or x + f(x): (N,D) -> (N,D). `out`, unless NULL, gets the output of each block. */
static Tensor *stack(Stack *s, Tensor *x, Tensor **out)
{
    for (int i = 0; i < s->blocks->n; i++) {
        Tensor *f = ffn(nn_item(FFN, s->blocks, i), x);
        x = s->skip ? ag_add(x, f) : f;
        if (out) {
            out[i] = ag_retain(x);                                      /* so that the backward pass keeps its gradient */
        }
    }
    return x;
}

static double train_step(Stack *s, Optimizer *optimizer, Tensor *x, Tensor *y)
{
    AgScope step = ag_begin(AG_RECORD);
    Tensor *loss = nn_mse_loss(stack(s, x, NULL), y);
    double value = tensor_item(loss);
    ag_backward(loss);
    nn_optimizer_step(optimizer);
    ag_end(step);
    return value;
}

/* The signal and the gradient at each block; block 0 stands for the input. */
static void look_at_blocks(Stack *s, Tensor *x, Tensor *y, Blocks *b)
{
    AgScope look = ag_begin(AG_RECORD);
    Tensor *at[MAX_DEPTH + 1] = { tensor_set_requires_grad(ag_detach(x), true) };
    ag_backward(nn_mse_loss(stack(s, at[0], at + 1), y));
    b->n = s->blocks->n;
    for (int i = 0; i <= b->n; i++) {
        b->gradient[i] = sqrt(ag_grad_sum_squares(at[i]));
        b->signal[i] = sqrt(tensor_item(ag_mean(ag_mul(at[i], at[i]))));
    }
    nn_zero_grad(s);
    ag_end(look);
}

/* Trains n blocks, without [0] and with [1] skip connections. */
static Run *run_new(const Setup *setup, int64_t n, int64_t examples, int64_t seed)
{
    Run *r = run_alloc(steps);
    AgScope data = ag_begin(AG_NO_GRAD);
    ag_seed((uint64_t)seed);
    Tensor *x = tensor_normal(SHAPE(examples, WIDTH), 0, 1), *y = setup_target(setup, x);
    r->zero = tensor_item(ag_mean(ag_mul(y, y)));
    Stack *s[2] = { stack_new(setup, n, false), stack_new(setup, n, true) };
    for (int k = 0; k < 2; k++) {
        Optimizer *optimizer = setup_optimizer(setup, s[k], lr);
        look_at_blocks(s[k], x, y, &r->before[k]);
        Progress progress = progress_begin("step", steps);
        for (int64_t i = 0; i < steps; i++) {
            r->loss[k][i] = train_step(s[k], optimizer, x, y);
            progress_show(&progress, i + 1, "loss %.4f", r->loss[k][i]);
        }
        progress_end(&progress);
        look_at_blocks(s[k], x, y, &r->after[k]);
        weights_hash(s[k], r->hash[k]);
        ag_free(optimizer);
        ag_free(s[k]);
    }
    ag_end(data);
    return r;
}

/* The same with several seeds. */
static void run_seeds(const Setup *setup, int64_t n, int64_t examples, Run **r)
{
    for (int64_t k = 0; k < seeds; k++) {
        r[k] = run_new(setup, n, examples, example_seed() + k);
    }
}

/* Trains and reports networks of 2, 4, 8, ... blocks. r gets the runs of the deepest ones. */
static void deep_networks(Run **r)
{
    Csv *csv = report_depths_begin();
    for (int64_t n = 2; n < depth; n *= 2) {
        run_seeds(&chosen, n, deep_rows, r);
        report_depth(csv, r, seeds);
        runs_free(r, seeds);
    }
    run_seeds(&chosen, depth, deep_rows, r);
    report_depth(csv, r, seeds);
    csv_close(csv);
    report_deep(r, seeds);
    picture_draw("skip_depth");
}

/* Trains and reports networks in which one thing is changed; `as_chosen`: the runs without a change. */
static void control_networks(Run **as_chosen)
{
    int64_t n = depth > 0 ? depth : 1, examples = depth > 0 ? deep_rows : rows;
    Run *r[MAX_SEEDS];
    Control control[CONTROLS];
    Csv *csv = report_controls_begin((int)n);
    report_control(csv, "as chosen", as_chosen, seeds);
    for (int k = 0; k < setup_controls(&chosen, control); k++) {
        run_seeds(&control[k].setup, n, examples, r);
        report_control(csv, control[k].name, r, seeds);
        runs_free(r, seeds);
    }
    csv_close(csv);
    picture_draw("skip_controls");
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 1000000, "training steps"),
        NN_OPTION("rows", rows, 1, 10000000, "rows of data of the networks of one block, all of them in each step"),
        NN_OPTION("hidden", hidden, 1, 100000, "width of the hidden layer of f"),
        NN_OPTION("lr", lr, 0, 1000, "learning rate; 0: 0.001 for Adam, 0.03 for gradient descent"), PRECISION_OPTION,
        SETUP_OPTIONS(chosen),
        NN_OPTION("seeds", seeds, 1, MAX_SEEDS, "runs of each network, from --seed on"),
        NN_OPTION("depth", depth, 0, MAX_DEPTH, "2, 4, 8, ... blocks in a row, up to this depth; 0: one block alone"),
        NN_OPTION("deep-rows", deep_rows, 1, 10000000, "rows of data of the deep networks"),
        NN_FLAG_OPTION("controls", controls, "change one thing at a time: first weights, optimizer, target"), NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "skip_connection",
        "Compares the loss with and without a skip connection. f, two linear layers with a ReLU between them, and x + f(x)\n"
        "learn to return their input x, rows of 10 standard normal numbers. --depth 16: many such blocks in a row, with the\n"
        "signal and the gradient at each block, which the factors f'(x) or 1 + f'(x) multiply. --controls: other first\n"
        "weights, another optimizer and other targets. Prints the SHA-256 of the weights of the networks of one block.\n\n"
        "Writes skip_connection.csv (step,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,zero: the losses of f(x) and\n"
        "x + f(x) with the first seed, the range of all seeds, and the loss of always answering 0); --depth: skip_deep.csv\n"
        "(the same of the deepest networks), skip_depth.csv (depth,zero,ffn,skip,ffn_least,ffn_most,skip_least,skip_most: the\n"
        "last losses) and skip_gradient.csv (step,block,ffn,skip,ffn_signal,skip_signal: the norms of the gradients and the\n"
        "sizes of the outputs); --controls: skip_controls.csv (control,zero,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,\n"
        "ffn_factor,skip_factor,blocks: the last losses, a block's factors for the gradient). Draws them.", options });
    setup_check(&chosen);
    say("f(x) and x + f(x) learn to return %s: %lld rows of %d numbers, %lld seeds.\n", setup_target_text(&chosen),
        (long long)rows, WIDTH, (long long)seeds);
    Run *block[MAX_SEEDS], *deepest[MAX_SEEDS];
    run_seeds(&chosen, 1, rows, block);
    report_block(block, seeds);
    if (depth > 0) {
        deep_networks(deepest);
    }
    if (controls) {
        control_networks(depth > 0 ? deepest : block);
    }
    report_hashes(block[0]);
    if (depth == 0 && !controls) {
        report_next();
    }
    runs_free(block, seeds);
    runs_free(deepest, depth > 0 ? seeds : 0);
    return example_end();
}
