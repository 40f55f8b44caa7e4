/* landscape.c: the loss in a plane through the weights, and the curvature that the plane misses. */

/* The networks, their training and its options are those of skip_connection.c. */
int skip_connection_main(int argc, char **argv);
#define main skip_connection_main
#include "skip_connection.c"
#undef main
#include "common/loss_shape.h"

/* The random numbers of the directions are others than those of the data and of the weights. */
enum { ROUNDS = 100, DIRECTIONS_SEED = 1000000 };
static int64_t grid = 31, pairs = 3;
static double range = 1;
static const char *const name_of[2] = { "f(x)", "x + f(x)" };

/* What is found at the weights of one network. */
typedef struct {
    double loss, largest;           /* and the largest eigenvalue of the Hessian */
    double slice[MAX_SEEDS];        /* the largest curvature in the plane of each pair */
    double after[2];                /* losses after a step of length 1: in the plane, along the
                                     * eigenvector */
} Found;

static void train(Stack *s, Tensor *x, Tensor *y)
{
    Optimizer *optimizer = setup_optimizer(&chosen, s, lr);
    Progress progress = progress_begin("step", steps);
    for (int64_t i = 0; i < steps; i++) {
        double loss = train_step(s, optimizer, x, y);
        progress_show(&progress, i + 1, "loss %.4f", loss);
    }
    progress_end(&progress);
    ag_free(optimizer);
}

static double loss_of(Stack *s, Tensor *x, Tensor *y)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    double loss = tensor_item(nn_mse_loss(stack(s, x, NULL), y));
    ag_end(scope);
    return loss;
}

static double coordinate(int64_t i)
{
    return range * (2 * (double)i / (double)(grid - 1) - 1);
}

static void write_map(Csv *csv, Stack *s, Slice *plane, Tensor *x, Tensor *y)
{
    Progress progress = progress_begin("point", grid * grid);
    for (int64_t i = 0; i < grid * grid; i++) {
        double a = coordinate(i % grid), b = coordinate(i / grid);
        slice_move(plane, a, b);
        double loss = loss_of(s, x, y);
        csv_row(csv, s->skip, a, b, loss);
        progress_show(&progress, i + 1, "loss %.4f", loss);
    }
    slice_move(plane, 0, 0);
    progress_end(&progress);
}

/* Returns the mean of the losses at both ends of a step of length 1 along v. */
static double loss_after(Stack *s, const Slice *plane, Tensor *const *v, Tensor *x, Tensor *y)
{
    const double length = sqrt(tensors_product(v, v, plane->n)), move[2] = { 1, -2 };
    double sum = 0;
    AgScope scope = ag_begin(AG_NO_GRAD);
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < plane->n; i++) {
            tensor_copy(plane->p[i], ag_add(plane->p[i], ag_scale(v[i], move[end] / length)));
        }
        sum += loss_of(s, x, y);
    }
    for (int i = 0; i < plane->n; i++) {
        tensor_copy(plane->p[i], plane->start[i]);
    }
    ag_end(scope);
    return sum / 2;
}

/* Finds the largest eigenvalue and the loss after a step along its eigenvector. */
static void find_largest(Found *f, Stack *s, const Slice *plane, Tensor *x, Tensor *y)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *loss = nn_mse_loss(stack(s, x, NULL), y), **v = ag_alloc((size_t)plane->n, sizeof *v);
    f->loss = tensor_item(loss);
    for (int i = 0; i < plane->n; i++) {
        v[i] = tensor_normal(tensor_shape(plane->p[i]), 0, 1);
    }
    Progress progress = progress_begin("round", ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        f->largest = largest_curvature(loss, plane->p, v, plane->n, 1);
        progress_show(&progress, i + 1, "curvature %.4g", f->largest);
    }
    progress_end(&progress);
    f->after[0] = loss_after(s, plane, plane->direction[0], x, y);
    f->after[1] = loss_after(s, plane, v, x, y);
    ag_free(v);
    ag_end(scope);
}

static double curvature_in(Slice *plane, Stack *s, Tensor *x, Tensor *y)
{
    AgScope scope = ag_begin(AG_RECORD);
    double curvature = slice_curvature(plane, nn_mse_loss(stack(s, x, NULL), y));
    ag_end(scope);
    return curvature;
}

static double length_of(const Slice *plane, int k)
{
    return sqrt(tensors_product(plane->direction[k], plane->direction[k], plane->n));
}

/* Looks at a trained network: the map of the first pair of directions, and the numbers of all. */
static Found look(Stack *s, Tensor *x, Tensor *y, Csv *map, Csv *numbers)
{
    Found f;
    for (int64_t i = 0; i < pairs; i++) {
        Slice *plane = slice_new(s, (uint64_t)(DIRECTIONS_SEED + example_seed() + i));
        if (i == 0) {
            find_largest(&f, s, plane, x, y);
            write_map(map, s, plane, x, y);
        }
        f.slice[i] = curvature_in(plane, s, x, y);
        csv_row(numbers, s->skip, i, f.loss, f.largest, f.slice[i], length_of(plane, 0),
                length_of(plane, 1));
        slice_free(plane);
    }
    return f;
}

static void report(const Found found[2])
{
    say("network         loss    eigenvalue    in the planes               missed\n");
    for (int k = 0; k < 2; k++) {
        const Found *f = &found[k];
        double least = INFINITY, most = -INFINITY;
        for (int64_t i = 0; i < pairs; i++) {
            least = fmin(least, f->slice[i]);
            most = fmax(most, f->slice[i]);
        }
        say("%-10s %9.4g     %9.4g    %9.2g to %-9.2g    %9.3f %%\n", name_of[k], f->loss,
            f->largest, least, most, 100 * (1 - most / f->largest));
    }
    for (int k = 0; k < 2; k++) {
        say("%s: after a step of length 1, the loss is %.4g in the plane, "
            "%.4g along the eigenvector.\n",
            name_of[k], found[k].after[0], found[k].after[1]);
    }
}

int main(int argc, char **argv)
{
    steps = 300;
    depth = 16;
    deep_rows = 1000;
    const NnField options[] = {
        NN_OPTION("depth", depth, 1, MAX_DEPTH, "blocks in a row"),
        NN_OPTION("steps", steps, 0, 1000000, "training steps"),
        NN_OPTION("grid", grid, 3, 1001, "points of the map along each direction"),
        NN_OPTION("range", range, 1e-6, 100, "the map goes from -range to range of each direction"),
        NN_OPTION("seeds", pairs, 1, MAX_SEEDS, "pairs of directions; the map has the first"),
        NN_OPTION("rows", deep_rows, 1, 10000000, "rows of data, all of them in each step"),
        NN_OPTION("hidden", hidden, 1, 100000, "width of the hidden layer of f"),
        NN_OPTION("lr", lr, 0, 1000, "learning rate; 0: 0.001 for Adam, 0.03 for gradient descent"),
        SETUP_OPTIONS(chosen), NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "landscape",
        "Draws the loss of f(x) and of x + f(x) in a plane through the trained weights. The plane\n"
        "has two random directions. Each row of a weight matrix in them has the norm of that row of\n"
        "the weights, and biases do not move (Li et al. 2018). Beside the map: the largest\n"
        "eigenvalue of the Hessian, by power iteration, and how much of it the plane misses.\n\n"
        "Writes landscape.csv (skip,a,b,loss) and landscape_curvature.csv\n"
        "(skip,pair,loss,largest,slice,length_a,length_b: the largest eigenvalue, the largest\n"
        "curvature in the plane, and the lengths of its directions), and draws them.",
        options });
    setup_check(&chosen);
    ag_free(example_path("landscape.csv"));     /* makes the folder before the training */
    AgScope data = ag_begin(AG_NO_GRAD);
    ag_seed((uint64_t)example_seed());
    Tensor *x = tensor_normal(SHAPE(deep_rows, WIDTH), 0, 1), *y = setup_target(&chosen, x);
    Stack *network[2] = { stack_new(&chosen, depth, false), stack_new(&chosen, depth, true) };
    say("f(x) and x + f(x), %lld blocks each, learn to return %s: %lld steps.\n", (long long)depth,
        setup_target_text(&chosen), (long long)steps);
    for (int k = 0; k < 2; k++) {
        train(network[k], x, y);
        if (!isfinite(loss_of(network[k], x, y))) {
            example_fail("the loss of %s is not finite after %lld steps: expected a smaller --lr",
                         name_of[k], (long long)steps);
        }
    }
    Csv *map = csv_open("landscape.csv", "skip,a,b,loss");
    Csv *numbers = csv_open("landscape_curvature.csv",
                            "skip,pair,loss,largest,slice,length_a,length_b");
    Found found[2];
    for (int k = 0; k < 2; k++) {
        found[k] = look(network[k], x, y, map, numbers);
        ag_free(network[k]);
    }
    report(found);
    csv_close(map);
    csv_close(numbers);
    picture_draw("landscape");
    ag_end(data);
    return example_end();
}
