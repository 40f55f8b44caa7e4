/* skip_lab.c: ways to connect the blocks of a network, in one table: what each is worth at the
 * learning rate that is best for it. */
#include <math.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "skip_lab/lab.h"

LabOptions lab = {
    .setup = { "default", "adam", "matrix" }, .steps = { 100, 200 }, .depth = { 16, 4 },
    .examples = 500, .hidden = 128, .width = 32, .batch = 16, .context = 32, .products = 12,
    .goal = { 0.1, 2.7 },
};
static int64_t seeds = 3, given_depth = 0, given_steps = 0;
static double given_rate = 0, given_goal = 0;
static const char *network_name = "both", *row_names = "all";
static bool fresh = false;
static const char *const network_names[NETWORKS] = { "ffn", "gpt" };

/* ---- one run --------------------------------------------------------------------------------- */

/* Returns the model of a row with its first weights. f(x) and x + f(x) have those of
 * skip_connection.c, which draws the weights of f(x) first. The branches of the other rows have the
 * weights of x + f(x), if they have the same shapes. */
static Model *first_weights(const Trial *t)
{
    if (strcmp(rows[t->row].key, rows[0].key) != 0) {
        ag_free(model_new(t->network, &rows[0]));
    }
    return model_new(t->network, &rows[t->row]);
}

static double loss_value(Model *m, const Batch *b)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    double value = tensor_item(model_loss(m, b));
    ag_end(scope);
    return value;
}

static double train_step(Model *m, Optimizer *optimizer, const Data *d, int64_t step)
{
    AgScope scope = ag_begin(AG_RECORD);
    Batch b = data_batch(d);
    Tensor *loss = model_loss(m, &b);
    double value = tensor_item(loss), rate = nn_optimizer_lr(optimizer);
    ag_backward(loss);
    if (step < lab.warmup) {
        nn_optimizer_set_lr(optimizer, rate * (double)(step + 1) / (double)lab.warmup);
    }
    nn_optimizer_step(optimizer);
    nn_optimizer_set_lr(optimizer, rate);
    ag_end(scope);
    return value;
}

/* Trains, and notes the first step before which the loss is at the goal. The GPT's loss, of other
 * windows in each step, is the mean of ten steps. */
static void train(Model *m, const Trial *t, const Data *d, Outcome *o)
{
    Optimizer *optimizer = setup_optimizer(&lab.setup, m, t->rate);
    int64_t count = t->network == FFN ? 1 : 10;
    double last[10] = { 0 };
    for (int64_t step = 0; step < lab.steps[t->network]; step++) {
        last[step % count] = train_step(m, optimizer, d, step);
        int64_t n = step < count ? step + 1 : count;
        o->loss = 0;
        for (int64_t i = 0; i < n; i++) {
            o->loss += last[i] / (double)n;
        }
        if (o->steps == 0 && n == count && o->loss <= lab.goal[t->network]) {
            o->steps = (double)(step + 1);
        }
    }
    ag_free(optimizer);
}

static void measure(Model *m, const Data *d, Outcome *o, int after)
{
    measure_blocks(m, &d->train, &o->blocks[after]);
    o->eigenvalue[after] = largest_eigenvalue(m, &d->train, (int)lab.products);
}

static void run(const Trial *t, Outcome *o)
{
    *o = (Outcome){ .steps = 0 };
    AgScope scope = ag_begin(AG_NO_GRAD);
    Data d = data_new(t->network, (uint64_t)t->seed);
    Model *m = first_weights(t);
    o->parameters = (double)nn_count(m);
    if (!t->tunes) {
        measure(m, &d, o, 0);
    }
    train(m, t, &d, o);
    if (!t->tunes) {
        o->held_out = loss_value(m, &d.held_out);
        measure(m, &d, o, 1);
    }
    ag_free(m);
    ag_end(scope);
}

/* ---- all runs -------------------------------------------------------------------------------- */

static Progress progress;
static int64_t done;

/* Takes a run from the file, or runs it and adds it. */
static Outcome outcome_of(Trial t)
{
    Outcome o;
    if (store_find(&t, &o)) {
        progress.total--;
        return o;
    }
    run(&t, &o);
    store_add(&t, &o);
    progress_show(&progress, ++done, "%s", rows[t.row].name);
    return o;
}

static const double rates[] = {
    1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10
};
enum { RATES = sizeof rates / sizeof *rates, ADAM_FIRST = 4, SGD_FIRST = 7, TRIED_FIRST = 3 };

static double tuning_loss(Trial t, int rate)
{
    t.rate = rates[rate];
    double loss = outcome_of(t).loss;
    return isnan(loss) ? INFINITY : loss;
}

/* Tries three rates with a seed that the table does not have, and more beyond the best one while it
 * is the first or the last of them. */
static void tune(Trial t, Result *r)
{
    int first = strcmp(lab.setup.optimizer, "adam") == 0 ? ADAM_FIRST : SGD_FIRST;
    int last = first + TRIED_FIRST - 1, best = first;
    double loss[RATES];
    t.tunes = true;
    t.seed = example_seed() + seeds;
    for (int i = first; i <= last; i++) {
        loss[i] = tuning_loss(t, i);
        best = loss[i] < loss[best] ? i : best;
    }
    while ((best == first && first > 0) || (best == last && last + 1 < RATES)) {
        int next = best == first ? --first : ++last;
        progress.total++;
        loss[next] = tuning_loss(t, next);
        if (!(loss[next] < loss[best])) break;
        best = next;
    }
    r->rate = rates[best];
    r->at_edge = best == first || best == last;
}

static void run_row(Trial t, Result *r)
{
    r->row = t.row;
    r->rate = given_rate;
    if (given_rate == 0) {
        tune(t, r);
    }
    t.rate = r->rate;
    for (int64_t k = 0; k < seeds; k++) {
        t.seed = example_seed() + k;
        r->outcome[k] = outcome_of(t);
    }
}

/* ---- options --------------------------------------------------------------------------------- */

/* Whether a list "skip,rezero" has a name. */
static bool has_name(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool is_chosen(int network, int row)
{
    bool both = strcmp(network_name, "both") == 0;
    bool network_chosen = both || strcmp(network_name, network_names[network]) == 0;
    bool row_chosen = strcmp(row_names, "all") == 0 || has_name(row_names, rows[row].key);
    return rows[row].in[network] && network_chosen && row_chosen;
}

/* Ends the program if a name in --rows is that of no row. */
static void check_rows(void)
{
    char all[400] = "all";
    for (int i = 0; i < rows_count(); i++) {
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, ",%s", rows[i].key);
    }
    for (const char *at = row_names; at; at = strchr(at, ',')) {
        at += *at == ',';
        char name[40];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        if (!name[0] || !has_name(all, name)) {
            example_usage_error("--rows %s: expected a list of %s", row_names, all);
        }
    }
}

/* Returns how many runs a table needs, if no more rates are tried than the first ones. */
static int64_t count_runs(void)
{
    int64_t n = 0, of_row = seeds + (given_rate > 0 ? 0 : TRIED_FIRST);
    for (int k = 0; k < NETWORKS; k++) {
        for (int row = 0; row < rows_count(); row++) {
            n += is_chosen(k, row) ? of_row : 0;
        }
    }
    return n;
}

static void check_options(void)
{
    setup_check(&lab.setup);
    check_rows();
    if (strchr(network_name, ',') || !has_name("ffn,gpt,both", network_name)) {
        example_usage_error("--network %s: expected ffn, gpt or both", network_name);
    }
    if (count_runs() == 0) {
        example_usage_error("--rows %s: --network %s has none of these rows", row_names,
                            network_name);
    }
    if (lab.width % 4 != 0) {
        example_usage_error("--width is %lld, expected a multiple of 4, the number of heads",
                            (long long)lab.width);
    }
    for (int k = 0; k < NETWORKS; k++) {
        lab.depth[k] = given_depth ? given_depth : lab.depth[k];
        lab.steps[k] = given_steps ? given_steps : lab.steps[k];
        lab.goal[k] = given_goal > 0 ? given_goal : lab.goal[k];
    }
}

/* Runs the chosen rows of a network, and returns how many there are. */
static int run_network(int network, Result *result)
{
    int n = 0;
    for (int row = 0; row < rows_count(); row++) {
        if (is_chosen(network, row)) {
            run_row((Trial){ .network = network, .row = row }, &result[n++]);
        }
    }
    return n;
}

static void run_all(void)
{
    Result *result[NETWORKS];
    int n[NETWORKS];
    progress = progress_begin("run", count_runs());
    for (int k = 0; k < NETWORKS; k++) {
        result[k] = ag_alloc((size_t)rows_count(), sizeof *result[k]);
        n[k] = run_network(k, result[k]);
    }
    progress_end(&progress);
    for (int k = 0; k < NETWORKS; k++) {
        if (n[k] > 0) {
            table_network(k, result[k], n[k], (int)seeds);
        }
        ag_free(result[k]);
    }
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_TEXT_OPTION("network", "NAME", network_name,
                       "ffn: blocks as in skip_connection; gpt: a small GPT on text; or both"),
        NN_TEXT_OPTION("rows", "LIST", row_names,
                       "rows of the table by name, with commas between them, or all"),
        NN_OPTION("depth", given_depth, 0, MAX_BRANCHES / 2,
                  "blocks of a network; 0: 16 for the FFN, 4 for the GPT"),
        NN_OPTION("steps", given_steps, 0, 1000000,
                  "training steps; 0: 100 for the FFN, 200 for the GPT"),
        NN_OPTION("seeds", seeds, 1, MAX_SEEDS, "runs of each row, from --seed on"),
        NN_OPTION("rate", given_rate, 0, 1000,
                  "learning rate of all rows; 0: the best one for each row"),
        NN_OPTION("warmup", lab.warmup, 0, 1000000, "steps until the full learning rate"),
        NN_TEXT_OPTION("init", "NAME", lab.setup.init, "first weights: " INITS),
        NN_TEXT_OPTION("optimizer", "NAME", lab.setup.optimizer, "optimizer: " OPTIMIZERS),
        NN_TEXT_OPTION("target", "NAME", lab.setup.target, "what the FFN should return: " TARGETS),
        NN_OPTION("goal", given_goal, 0, 1000,
                  "the loss to which steps are counted; 0: 0.1 for the FFN, 2.7 for the GPT"),
        NN_OPTION("examples", lab.examples, 1, 10000000,
                  "rows of data of the FFN, all of them in each step"),
        NN_OPTION("hidden", lab.hidden, 1, 100000, "width of the hidden layer of f in the FFN"),
        NN_OPTION("width", lab.width, 4, 4096, "width of the GPT"),
        NN_OPTION("context", lab.context, 1, 1000, "characters of a window of text"),
        NN_OPTION("batch", lab.batch, 1, 100000, "windows of text in a training step"),
        NN_OPTION("products", lab.products, 1, MOST_PRODUCTS,
                  "products of the Hessian and a vector for an eigenvalue"),
        NN_FLAG_OPTION("fresh", fresh, "forget the runs of a program that was stopped"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "skip_lab",
        "Compares ways to connect the blocks f of a network: f(x), x + f(x), learned scales,\n"
        "gates, skips from the input, U-net skips, DenseNet, several streams, pre-norm and\n"
        "post-norm. Two networks: a stack of FFN blocks that learns a target, as in\n"
        "skip_connection, and a small GPT that learns a text. Each row of the table has the\n"
        "learning rate that is best for it with one more seed. The insides: the gradient at the\n"
        "first block as a part of that at the last one, the signal after the last block as a\n"
        "part of the input, and the largest eigenvalue of the Hessian of the loss, before and\n"
        "after training. A program that was stopped goes on where it was.\n"
        "examples/skip_lab/rows.c has the rows.\n\n"
        "Writes skip_lab.csv (row,network,depth,rate,at_edge,parameters,... with the middle,\n"
        "least and largest value of all seeds of each quantity; network 0 is the FFN, 1 the\n"
        "GPT), skip_lab_blocks.csv\n"
        "(row,network,seed,block,gradient_before,gradient_after,signal_before,signal_after) and\n"
        "skip_lab_runs.csv, all runs. Draws the table.", options });
    check_options();
    text_begin();
    store_begin(fresh);
    if (store_size() > 0) {
        say("Goes on with the runs of a program that was stopped (--fresh forgets them).\n");
    }
    table_begin();
    run_all();
    store_end();
    table_end();
    return example_end();
}
