/* conv_blocks.c: convolution as a product of matrices, and pooling.
 *
 * The patches of a few rows of windows are packed into a matrix P that stays in the second-level cache: Y = W P. Backward packs
 * them again, which costs less than keeping them, 9 times x for windows of 3 x 3:
 *     dW += dY P^T, computed as dW^T += P dY^T, because P is then read in the order of its memory;    dP = W^T dY.
 * Images are divided into groups. A group's dW^T is a sum in order, and the sums of the groups are added in order. The groups
 * depend on the shapes alone, so the result does not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "conv_blocks.h"
#include "more_kernels.h"

enum {
    BLOCK_ITEMS = 1 << 17,          /* of P: 512 KiB. 64 -> 64 channels of 32 x 32: 1.2 against 1 << 16, 1.0 against 1 << 18 */
    GROUPS = 16,                    /* at most */
    GROUP_ITEMS = 1 << 22           /* of all sums dW^T: 16 MiB */
};

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* Items of a window. */
static int64_t window_items(const KConv *a) { return a->c * a->kh * a->kw; }

/* Rows of windows in a block: blocks of about the same size. */
static int64_t block_rows(const KConv *a)
{
    int64_t row = window_items(a) * a->ow, most = row > 0 ? BLOCK_ITEMS / row : a->oh;
    int64_t blocks = most > 0 ? (a->oh + most - 1) / most : a->oh;
    return blocks > 0 ? (a->oh + blocks - 1) / blocks : 1;
}

static int64_t block_items(const KConv *a) { return window_items(a) * block_rows(a) * a->ow; }
static int64_t blocks_of(const KConv *a) { return (a->oh + block_rows(a) - 1) / block_rows(a); }

static int64_t workers(const KConv *a, int64_t tasks)
{
    int64_t n = k_threads();
    if (a->b * a->o * window_items(a) * a->oh * a->ow < 65536) n = 1;   /* waking a thread would cost more than it does */
    return n < tasks ? n : tasks > 0 ? tasks : 1;
}

/* Numbers of the weights of one group of channels, and of all. */
static int64_t weights_of(const KConv *a) { return a->o * window_items(a); }
static int64_t all_weights(const KConv *a) { return a->channel_groups * weights_of(a); }

static int64_t groups_of(const KConv *a)
{
    int64_t weights = all_weights(a), n = at_most(a->b, GROUPS);
    if (weights > 0) n = at_most(n, GROUP_ITEMS / weights);
    return n > 0 ? n : 1;
}

/* A call; all workers read it. */
typedef struct {
    const KConv *a;
    int64_t workers;
    real *y, *dx, *dweight, *work;
    const real *x, *weight, *bias, *dy;
    bool add_x;
} Job;

static KPatches patches_of(const KConv *a, int64_t block)
{
    int64_t first = block * block_rows(a);
    return (KPatches){ a->c, a->h, a->w, a->kh, a->kw, a->ow, { a->stride[0], a->stride[1] },
                       { a->padding[0], a->padding[1] }, { a->dilation[0], a->dilation[1] }, first,
                       at_most(block_rows(a), a->oh - first) };
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void forward_block(const Job *job, int64_t image, int64_t block, real *matrix)
{
    const KConv *a = job->a;
    KPatches p = patches_of(a, block);
    int64_t columns = p.rows * a->ow, plane = a->oh * a->ow, group = image % a->channel_groups;
    real *y = job->y + image * a->o * plane + p.first * a->ow;
    k_patches(&p, matrix, job->x + image * a->c * a->h * a->w);
    for (int64_t o = 0; job->bias && o < a->o; o++)
        for (int64_t i = 0; i < columns; i++) y[o * plane + i] = job->bias[group * a->o + o];
    KGemm g = { .bf16 = a->bf16, .add = job->bias != NULL, .m = a->o, .n = columns, .k = window_items(a),
                .lda = window_items(a), .ldb = columns, .ldc = plane, .batch = 1 };
    k_gemm(&g, y, job->weight + group * weights_of(a), matrix);
}

static void forward_worker(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    int64_t blocks = blocks_of(job->a), tasks = job->a->b * blocks;
    for (int64_t w = begin; w < end; w++)
        for (int64_t i = w * tasks / job->workers; i < (w + 1) * tasks / job->workers; i++)
            forward_block(job, i / blocks, i % blocks, job->work + w * block_items(job->a));
}

int64_t k_conv2d_work(const KConv *a)
{
    return block_items(a) * workers(a, a->b * blocks_of(a));
}

void k_conv2d(const KConv *a, real *y, const real *x, const real *weight, const real *bias, real *work)
{
    Job job = { .a = a, .workers = workers(a, a->b * blocks_of(a)), .y = y, .x = x, .weight = weight, .bias = bias,
                .work = work };
    k_parallel(job.workers, 1, forward_worker, &job);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* dweight: dW^T of the image's group of channels, summed for its group of images, or NULL. */
static void backward_image(const Job *job, int64_t image, real *dweight, real *matrix)
{
    const KConv *a = job->a;
    int64_t size = a->c * a->h * a->w, plane = a->oh * a->ow, items = window_items(a);
    real *dx = job->dx ? job->dx + image * size : NULL;
    if (dx && !job->add_x) memset(dx, 0, (size_t)size * sizeof *dx);
    for (int64_t block = 0; block < blocks_of(a); block++) {
        KPatches p = patches_of(a, block);
        int64_t columns = p.rows * a->ow;
        const real *dy = job->dy + image * a->o * plane + p.first * a->ow;
        if (dweight) {
            KGemm g = { .bf16 = a->bf16, .tb = true, .add = true, .m = items, .n = a->o, .k = columns, .lda = columns,
                        .ldb = plane, .ldc = a->o, .batch = 1 };
            k_patches(&p, matrix, job->x + image * size);
            k_gemm(&g, dweight, matrix, dy);
        }
        if (dx) {
            KGemm g = { .bf16 = a->bf16, .ta = true, .m = items, .n = columns, .k = a->o, .lda = items, .ldb = plane,
                        .ldc = columns, .batch = 1 };
            k_gemm(&g, matrix, job->weight + image % a->channel_groups * weights_of(a), dy);
            k_patches_add(&p, dx, matrix);
        }
    }
}

static void backward_worker(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    const KConv *a = job->a;
    int64_t groups = groups_of(a), weights = all_weights(a);
    for (int64_t w = begin; w < end; w++)
        for (int64_t group = w * groups / job->workers; group < (w + 1) * groups / job->workers; group++) {
            real *dweight = job->dweight ? job->dweight + group * weights : NULL;
            if (dweight) memset(dweight, 0, (size_t)weights * sizeof *dweight);
            for (int64_t image = group * a->b / groups; image < (group + 1) * a->b / groups; image++)
                backward_image(job, image, dweight ? dweight + image % a->channel_groups * weights_of(a) : NULL,
                               job->work + w * block_items(a));
        }
}

int64_t k_conv2d_backward_work(const KConv *a)
{
    return groups_of(a) * all_weights(a) + block_items(a) * workers(a, groups_of(a));
}

void k_conv2d_backward(const KConv *a, real *dx, bool add_x, real *dweight, bool add_weight, const real *dy, const real *x,
                       const real *weight, real *work)
{
    int64_t items = window_items(a), weights = all_weights(a), one = weights_of(a);
    Job job = { .a = a, .workers = workers(a, groups_of(a)), .dx = dx, .dweight = dweight ? work : NULL, .dy = dy, .x = x,
                .weight = weight, .work = work + groups_of(a) * weights, .add_x = add_x };
    k_parallel(job.workers, 1, backward_worker, &job);
    if (!dweight) return;
    for (int64_t group = 1; group < groups_of(a); group++) k_axpy(weights, work, 1, work + group * weights);
    KWalk transposed = { 3, { a->channel_groups, a->o, items }, { one, items, 1 }, { one, 1, a->o } };
    if (add_weight) k_copy_add(&transposed, dweight, work);
    else k_copy(&transposed, dweight, work, sizeof *work);
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

/* dx: backward; y is dy then. */
typedef struct { const KPool *p; real *y, *dx; const real *x; int32_t *index; } Pooling;

/* Window number `i` of all; x, dx: of its plane. */
static void pool_window(const Pooling *j, int64_t i, const real *x, real *dx)
{
    const KPool *p = j->p;
    int64_t top = i / p->ow % p->oh * p->stride - p->padding, left = i % p->ow * p->stride - p->padding;
    int64_t bottom = at_most(top + p->size, p->h), right = at_most(left + p->size, p->w), best = -1;
    real share = (real)(1 / (double)(p->size * p->size)), sum = 0;
    for (int64_t row = top > 0 ? top : 0; row < bottom; row++)
        for (int64_t at = row * p->w + (left > 0 ? left : 0); at < row * p->w + right; at++) {
            if (dx) dx[at] += share * j->y[i];
            else if (!p->max) sum += x[at];
            else if (best < 0 || x[at] > x[best] || (isnan(x[at]) && !isnan(x[best]))) best = at;
        }
    if (dx) return;
    j->y[i] = p->max ? x[best] : share * sum;
    if (p->max && j->index) j->index[i] = (int32_t)best;
}

static void pool_planes(void *arg, int64_t begin, int64_t end)
{
    const Pooling *j = arg;
    int64_t windows = j->p->oh * j->p->ow, plane = j->p->h * j->p->w;
    for (int64_t i = begin * windows; i < end * windows; i++) {
        int64_t first = i / windows * plane;
        if (j->dx && j->p->max) j->dx[first + j->index[i]] += j->y[i];
        else pool_window(j, i, j->x ? j->x + first : NULL, j->dx ? j->dx + first : NULL);
    }
}

static void each_plane(const KPool *p, Pooling job)
{
    enum { GRAIN = 16384 };
    k_parallel(p->planes, 1 + GRAIN / (p->oh * p->ow * p->size * p->size + 1), pool_planes, &job);
}

void k_pool2d(const KPool *p, real *y, int32_t *index, const real *x)
{
    each_plane(p, (Pooling){ .p = p, .y = y, .x = x, .index = index });
}

void k_pool2d_backward(const KPool *p, real *dx, const real *dy, const int32_t *index)
{
    each_plane(p, (Pooling){ .p = p, .y = (real *)dy, .dx = dx, .index = (int32_t *)index });
}
