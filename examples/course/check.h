/* check.h: stands at the end of each assignment: checks what was written there, first by gradients, then by the hash of a short
 * training. A usual mistake has its formula here, in double: numbers that are equal to it get its hint. */
#include <signal.h>

#include "expected.h"

/* ---- numbers --------------------------------------------------------------------------------------------------------- */

enum { MOST = 256 };                        /* numbers that are compared at a time */

typedef struct {
    const char *name, *japanese, *english;
    double x[MOST];
} Mistake;
static Mistake mistake[32];                 /* of the numbers that are compared next */
static int mistakes;

static double *mistake_new(const char *name, const char *japanese, const char *english)
{
    mistake[mistakes] = (Mistake){ name, japanese, english, { 0 } };
    return mistake[mistakes++].x;
}

/* Returns the next number of a sequence, with a size of 0.3 to 1.3. */
static double next_number(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    double size = 0.3 + (state >> 9) * 0x1p-23;
    return state >> 8 & 1 ? size : -size;
}

/* Returns a parameter with numbers, and a gradient that is not 0 before the rule adds to it: a copy of it is in t->square. */
static Parameters mine;
static Tensor *numbers(int rows, int n)
{
    Tensor *t = parameter_new(&mine, rows, n);
    for (int i = 0; i < count(t); i++) {
        t->x[i] = (float)next_number();
        t->grad[i] = t->square[i] = (float)(2 * next_number());
    }
    return t;
}

static bool all_equal(int n, const double *got, const double *want)
{
    double largest = 1e-6;
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
    }
    for (int i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= 3e-3 * largest)) {
            return false;
        }
    }
    return true;
}

/* Returns the factor between the numbers, or 0 if it is not the same for all. */
static double factor_of(int n, const double *got, const double *want)
{
    double scaled[MOST], factor = 0, largest = 0;
    for (int i = 0; i < n; i++) {
        if (fabs(want[i]) > largest) {
            largest = fabs(want[i]);
            factor = got[i] / want[i];
        }
    }
    for (int i = 0; i < n; i++) {
        scaled[i] = want[i] * factor;
    }
    return factor != 0 && all_equal(n, got, scaled) ? factor : 0;
}

static void try_mistakes(int n, const double *got)
{
    for (int k = 0; k < mistakes; k++) {
        if (all_equal(n, got, mistake[k].x)) {
            course_say(mistake[k].japanese, mistake[k].english);
            course_wrong(mistake[k].name);
        }
    }
}

/* Compares n numbers. If `start` is not NULL, `got` is a gradient that was `start`, to which `want` should have been added. */
static void judge(const char *what, int n, const float *got, const float *start, const double *want)
{
    double all[MOST] = { 0 }, added[MOST] = { 0 }, largest = 0;
    bool finite = true, same = true;
    for (int i = 0; i < n; i++) {
        all[i] = got[i];
        added[i] = start ? (double)got[i] - start[i] : got[i];
        finite = finite && isfinite(got[i]);
        same = same && added[i] == 0;
        largest = fmax(largest, fabs(want[i]));
    }
    if (all_equal(n, added, want)) {
        course_say("正しい：%s\n", "right: %s\n", what);
        mistakes = 0;
        return;
    }
    course_say("正しくない：%s\n", "wrong: %s\n", what);
    if (!finite) {
        course_say("無限大か、数でないもの（nan）がある。0で割ったか、大きな数のexpか、始めの値がない変数があるのではないか？\n",
                   "Some are infinite or not numbers (nan). Is there a division by 0, an exp of a large number, or a variable\n"
                   "without a first value?\n");
        course_wrong("not_finite");
    }
    try_mistakes(n, added);
    if (same && largest > 0) {
        course_say("何も届いていない：ここに書くところが、まだないか、実行されていない。\n",
                   "Nothing arrives: what writes here is missing, or does not run.\n");
        course_wrong("nothing");
    }
    if (start && all_equal(n, all, want)) {
        course_say("数は正しいが、前からあった勾配が消えている。ほかの演算も同じテンソルに加える：= でなく += ではないか？\n",
                   "The numbers are right, but the gradient from before is lost. Others add to the same tensor, too: += in place of =?\n");
        course_wrong("assigned");
    }
    if (start) {
        try_mistakes(n, all);
    }
    double factor = factor_of(n, added, want);
    if (fabs(factor + 1) < 1e-2) {
        course_say("符号が逆である。\n", "The sign is wrong.\n");
        course_wrong("sign");
    } else if (factor != 0 && n > 1) {
        course_say("すべての数が、正しい値の %.4g 倍である。因数が足りないか、多い。\n",
                   "All numbers are %.4g times the right ones: a factor is missing, or one too many.\n", factor);
        course_wrong("factor");
    }
    int wrong = 0, first = -1;
    for (int i = 0; i < n; i++) {
        if (!(fabs(added[i] - want[i]) <= 3e-3 * largest)) {
            wrong++;
            first = first < 0 ? i : first;
        }
    }
    course_say("%d個のうち %d個が違う。始めは [%d]：正しい値は %.6g、あなたの値は %.6g。\n",
               "Of %d numbers %d are wrong. The first is [%d]: %.6g is right, yours is %.6g.\n", n, wrong, first, want[first],
               added[first]);
    course_wrong("other");
}

static void wrong_if(bool wrong, const char *name, const char *japanese, const char *english)
{
    if (wrong) {
        course_say(japanese, english);
        course_wrong(name);
    }
}

/* ---- the gradient check ---------------------------------------------------------------------------------------------- */

typedef Tensor *(*Forward)(Tensor **in);
static float dy[MOST];                      /* the loss is the sum of all dy[i] y[i] */

static void clear_tape(void)
{
    while (on_tape > 0) {
        free(tape[--on_tape].x);
    }
}

static double loss_of(Forward forward, Tensor **in)
{
    Tensor *y = forward(in);
    double loss = 0;
    for (int i = 0; i < count(y); i++) {
        loss += (double)dy[i] * y->x[i];
    }
    clear_tape();
    return loss;
}

/* The derivative of the loss by each number of t, from four values near it. */
static void numerical(Forward forward, Tensor **in, Tensor *t, double *gradient)
{
    const double h = 0x1p-5;
    for (int i = 0; i < count(t); i++) {
        float x = t->x[i];
        double loss[5];
        for (int k = -2; k <= 2; k++) {
            t->x[i] = (float)(x + k * h);
            loss[k + 2] = loss_of(forward, in);
        }
        t->x[i] = x;
        gradient[i] = (8 * (loss[3] - loss[1]) - (loss[4] - loss[0])) / (12 * h);
    }
}

static void choose_dy(void)
{
    for (int i = 0; i < MOST; i++) {
        dy[i] = (float)next_number();
    }
}

/* Calls the rule of y = forward(in) once. */
static void run_rule(Forward forward, Tensor **in)
{
    Tensor *y = forward(in);
    memcpy(y->grad, dy, (size_t)count(y) * sizeof *dy);
    float before[3][MOST];
    for (int k = 0; k < 3 && y->in[k]; k++) {
        memcpy(before[k], y->in[k]->x, (size_t)count(y->in[k]) * sizeof(float));
    }
    y->rule(y);
    for (int k = 0; k < 3 && y->in[k]; k++) {
        wrong_if(memcmp(before[k], y->in[k]->x, (size_t)count(y->in[k]) * sizeof(float)) != 0, "values_changed",
                 "規則が、入力の値（x）を変えている：加えるのは勾配（grad）だけである。\n",
                 "The rule changes values (x) of its inputs: it adds to gradients (grad) alone.\n");
    }
    clear_tape();
}

static const char *crash_japanese = "", *crash_english = "";        /* what a crash may mean now */

static void crashed(int number)
{
    (void)number;
    course_quiet = false;
    course_say("プログラムが止まった（メモリの外の読み書きか、0による割り算）。\n",
               "The program stopped (a read or write outside memory, or a division by 0).\n");
    course_say(crash_japanese, crash_english);
    printf("[%s.crash]\n", COURSE_NAME);
    fflush(stdout);
    _Exit(1);
}

static void compare_gradient(Forward forward, Tensor **in, Tensor *t, const char *what)
{
    double want[MOST];
    numerical(forward, in, t, want);
    judge(what, count(t), t->grad, t->square, want);
}

/* ---- relu and gelu --------------------------------------------------------------------------------------------------- */

static Tensor *relu_of(Tensor **in) { return relu(in[0]); }
static Tensor *gelu_of(Tensor **in) { return gelu(in[0]); }

static void check_relu(void)
{
    Tensor *in[] = { numbers(3, 5) };
    const float *x = in[0]->x;
    choose_dy();
    run_rule(relu_of, in);
    double *one = mistake_new("without_dy",
        "dyをかけていない：傾き1に、dyをかけたものが要る。\n", "dy is missing: the slope 1 times dy.\n");
    double *of_dy = mistake_new("sign_of_dy",
        "xでなく、dyの符号を見ている。通すかどうかは、xだけで決まる。\n",
        "It looks at the sign of dy. Whether dy passes depends on x alone.\n");
    double *mirrored = mistake_new("mirrored",
        "xが負のところでdyを通している：比べる向きが逆である。\n",
        "It lets dy pass where x is negative: the comparison is the wrong way round.\n");
    double *all = mistake_new("always", "xが負のところでも、dyを通している。\n", "It lets dy pass where x is negative, too.\n");
    double *value = mistake_new("value",
        "傾きでなく、値 relu(x) にdyをかけている。\n", "It multiplies dy by the value relu(x), not by the slope.\n");
    double *absolute = mistake_new("absolute", "xが負のところで -dy を通している：それは |x| の規則である。ここでは0。\n",
                                   "It lets -dy pass where x is negative: that is the rule of |x|. Here it is 0.\n");
    double *leaky = mistake_new("leaky", "xが負のところで 0.01 dy を通している：Leaky ReLUでなく、ReLUである。\n",
                                "It lets 0.01 dy pass where x is negative: that is a leaky ReLU.\n");
    for (int i = 0; i < count(in[0]); i++) {
        absolute[i] = x[i] < 0 ? -dy[i] : dy[i];
        leaky[i] = x[i] < 0 ? 0.01 * dy[i] : dy[i];
        one[i] = x[i] > 0;
        of_dy[i] = dy[i] > 0 ? dy[i] : 0;
        mirrored[i] = x[i] < 0 ? dy[i] : 0;
        all[i] = dy[i];
        value[i] = x[i] > 0 ? x[i] * dy[i] : 0;
    }
    compare_gradient(relu_of, in, in[0], "dx");
    if (relu_gradient(0, 1) != 0) {
        course_say("x = 0 では0とする（約束）。\n", "At x = 0 the gradient is 0, by convention.\n");
        course_wrong("at_zero");
    }
    if (relu_gradient(1, FLT_MIN / 2) != 0) {
        course_say("dyの大きさがFLT_MINより小さいときは、0とする（課題の文章）。\n",
                   "If the size of dy is below FLT_MIN, the result is 0 (see the text).\n");
        course_wrong("small_dy");
    }
}

static void check_gelu(void)
{
    Tensor *in[] = { numbers(3, 5) };
    const float *x = in[0]->x;
    choose_dy();
    run_rule(gelu_of, in);
    double *no_dy = mistake_new("without_dy", "dyをかけていない。\n", "dy is missing.\n");
    double *first = mistake_new("first_term_only",
        "積の微分の、二つめの項がない：yはxとs(u)の積で、s(u)もxによる。\n",
        "The second term of the derivative of a product is missing: y is x times s(u), and s(u) depends on x, too.\n");
    double *no_du = mistake_new("without_du",
        "uのxによる微分 du がない（連鎖律）。\n", "du, the derivative of u by x, is missing (chain rule).\n");
    double *no_3 = mistake_new("without_3",
        "x^3の微分は3 x^2：duに3がない。\n", "The derivative of x^3 is 3 x^2: du has no 3.\n");
    double *no_x = mistake_new("without_x",
        "二つめの項に、xがない：x s'(u) du。\n", "The second term has no x: x s'(u) du.\n");
    double *other = mistake_new("other_side",
        "s(u) と 1 - s(u) が逆である。sigmoid_lower(u) は、二つのうちの小さいほうである。\n",
        "s(u) and 1 - s(u) are exchanged. sigmoid_lower(u) is the smaller one of them.\n");
    double *lower = mistake_new("lower_only",
        "一つめの項に、いつも sigmoid_lower(u) を使っている：x > 0 では 1 - sigmoid_lower(u) になる。\n",
        "The first term is always sigmoid_lower(u): for x > 0 it is 1 - sigmoid_lower(u).\n");
    double *two = mistake_new("two_for_3", "x^3の微分は3 x^2である：2になっている。\n",
                              "The derivative of x^3 is 3 x^2: there is a 2.\n");
    double *minus = mistake_new("minus", "二つめの項の符号が逆である。\n", "The second term has the wrong sign.\n");
    double *no_slope = mistake_new("s_for_slope", "二つめの項で、s'(u) = s(u) (1 - s(u)) でなく s(u) を使っている。\n",
                                   "The second term has s(u) in place of s'(u) = s(u) (1 - s(u)).\n");
    double *with_u = mistake_new("u_for_du", "二つめの項で、duでなくuをかけている。\n",
                                 "The second term has u in place of du.\n");
    for (int i = 0; i < count(in[0]); i++) {
        double a = x[i], A = GELU_A, B = GELU_B, s = 1 / (1 + exp(-(A * a + B * a * a * a)));
        double slope = s * (1 - s), du = A + 3 * B * a * a;
        two[i] = dy[i] * (s + a * slope * (A + 2 * B * a * a));
        minus[i] = dy[i] * (s - a * slope * du);
        no_slope[i] = dy[i] * (s + a * s * du);
        with_u[i] = dy[i] * (s + a * slope * (A * a + B * a * a * a));
        no_dy[i] = s + a * slope * du;
        first[i] = dy[i] * s;
        no_du[i] = dy[i] * (s + a * slope);
        no_3[i] = dy[i] * (s + a * slope * (A + B * a * a));
        no_x[i] = dy[i] * (s + slope * du);
        other[i] = dy[i] * (1 - s + a * slope * du);
        lower[i] = dy[i] * (fmin(s, 1 - s) + a * slope * du);
    }
    compare_gradient(gelu_of, in, in[0], "dx");
    const float far[] = { 1e30f, 30, -30, -1e30f };
    for (int i = 0; i < 4; i++) {
        if (!(fabsf(gelu_gradient(far[i], 1) - (float)(i < 2)) < 1e-6f)) {
            course_say("x = %g では %d のはずである：xを-16から16までに収めてから計算する。\n",
                       "At x = %g it should be %d: limit x to -16..16 first.\n", (double)far[i], i < 2);
            course_wrong("far");
        }
    }
}

/* ---- linear and embedding -------------------------------------------------------------------------------------------- */

static Tensor *linear_of(Tensor **in) { return linear(in[0], in[1]); }
static Tensor *embedding_of(Tensor **in) { return embedding(in[0], in[1]); }

static void check_linear(void)
{
    Tensor *in[] = { numbers(3, 4), numbers(2, 4) }, *x = in[0], *w = in[1];
    choose_dy();
    run_rule(linear_of, in);
    const float *y = linear(x, w)->x;
    double *with_y = mistake_new("values_of_y",
        "dyでなく、yの値を使っている：values(y) でなく gradients(y)。\n",
        "It uses the values of y in place of dy: gradients(y), not values(y).\n");
    double *gradient_of_x = mistake_new("gradients_of_x",
        "xの値でなく、xの勾配を使っている：values(x)。\n", "It uses the gradient of x in place of its values: values(x).\n");
    double *twice = mistake_new("twice", "二回加えている。\n", "It is added twice.\n");
    double *last = mistake_new("overwritten", "最後の行だけが残っている：すべての行の和を加える（+=）。\n",
                               "Only the last row is left: add the sum of all rows (+=).\n");
    for (int i = 0; i < 3 * 2 * 4; i++) {
        int row = i / 8, o = i / 4 % 2, k = i % 4;
        last[o * 4 + k] = (double)dy[row * 2 + o] * x->x[row * 4 + k];
        with_y[o * 4 + k] += (double)y[row * 2 + o] * x->x[row * 4 + k];
        gradient_of_x[o * 4 + k] += (double)dy[row * 2 + o] * x->square[row * 4 + k];
        twice[o * 4 + k] += 2. * dy[row * 2 + o] * x->x[row * 4 + k];
    }
    compare_gradient(linear_of, in, w, "dW");
    double *dx_with_y = mistake_new("values_of_y",
        "dyでなく、yの値を使っている：values(y) でなく gradients(y)。\n",
        "It uses the values of y in place of dy: gradients(y), not values(y).\n");
    double *gradient_of_w = mistake_new("gradients_of_w",
        "Wの値でなく、Wの勾配を使っている：values(weight)。\n",
        "It uses the gradient of W in place of its values: values(weight).\n");
    last = mistake_new("overwritten", "最後の出力の分だけが残っている：すべての出力の和を加える（+=）。\n",
                       "Only the part of the last output is left: add the sum over all outputs (+=).\n");
    double *turned = mistake_new("index_of_w", "Wの添字が逆である：W[o][k] は weight->x[o * in + k]。\n",
                                 "The indices of W are exchanged: W[o][k] is weight->x[o * in + k].\n");
    y = linear(x, w)->x;
    for (int i = 0; i < 3 * 2 * 4; i++) {
        int row = i / 8, o = i / 4 % 2, k = i % 4;
        last[row * 4 + k] = (double)dy[row * 2 + o] * w->x[o * 4 + k];
        turned[row * 4 + k] += (double)dy[row * 2 + o] * w->x[k * 2 + o];
        dx_with_y[row * 4 + k] += (double)y[row * 2 + o] * w->x[o * 4 + k];
        gradient_of_w[row * 4 + k] += (double)dy[row * 2 + o] * w->grad[o * 4 + k];
    }
    clear_tape();
    compare_gradient(linear_of, in, x, "dx");
    crash_japanese = "x->gradがNULLのとき（データには勾配が要らない）には、dxを計算しない。\n";
    crash_english = "If x->grad is NULL (data need no gradient), dx must not be computed.\n";
    in[0]->grad = NULL;
    run_rule(linear_of, in);
}

static void check_embedding(void)
{
    const int ids[] = { 2, 0, 2, 4, 2 };
    Tensor *in[] = { numbers(5, 6), numbers(6, 3) };
    in[0]->grad = NULL;
    memset(in[0]->x, 0, 30 * sizeof *in[0]->x);
    for (int row = 0; row < 5; row++) {
        in[0]->x[row * 6 + ids[row]] = 1;
    }
    choose_dy();
    crash_japanese = "onehotには勾配がない（NULL）：values(y->in[0]) を使う。\n";
    crash_english = "onehot has no gradient (NULL): use values(y->in[0]).\n";
    run_rule(embedding_of, in);
    double *last = mistake_new("last_only",
        "同じIDが二回以上現れるとき、最後の行だけが残っている：行を加えていく（+=）。\n",
        "If an id appears more than once, only its last row counts: add the rows (+=).\n");
    double *first = mistake_new("by_row",
        "dyの行iが、表の行id[i]でなく、行iに加えられている。\n",
        "Row i of dy is added to row i of the table, not to row id[i].\n");
    double *value = mistake_new("values_of_y",
        "dyでなく、yの値を使っている：gradients(y)。\n", "It uses the values of y in place of dy: gradients(y).\n");
    double *mean = mistake_new("mean",
        "回数で割っている：平均でなく、和である。\n", "It divides by the number of uses: it is a sum, not a mean.\n");
    double *assigned = mistake_new("assigned", "前からあった勾配も、同じIDの前の行も消えている：= でなく +=。\n",
                                   "The gradient from before and earlier rows of the same id are lost: += in place of =.\n");
    const int uses[] = { 1, 0, 3, 0, 1, 0 };
    for (int i = 0; i < 15; i++) {
        int to = ids[i / 3] * 3 + i % 3;
        last[to] = dy[i];
        assigned[to] = (double)dy[i] - in[1]->square[to];
        first[i] = dy[i];
        value[to] += in[1]->x[to];
        mean[to] += (double)dy[i] / uses[ids[i / 3]];
    }
    compare_gradient(embedding_of, in, in[1], "dtable");
}

/* ---- layer norm ------------------------------------------------------------------------------------------------------ */

static Tensor *norm_of(Tensor **in) { return layer_norm(in[0], in[1], in[2]); }

static void check_norm(void)
{
    enum { ROWS = 3, N = 5 };
    Tensor *in[] = { numbers(ROWS, N), numbers(1, N), numbers(1, N) };
    choose_dy();
    run_rule(norm_of, in);
    double c[ROWS][N], r[ROWS], g[ROWS][N], sum_g[ROWS], sum_gc[ROWS];
    for (int row = 0; row < ROWS; row++) {
        double mean = 0, variance = 0;
        for (int i = 0; i < N; i++) {
            mean += (double)in[0]->x[row * N + i] / N;
        }
        sum_g[row] = sum_gc[row] = 0;
        for (int i = 0; i < N; i++) {
            c[row][i] = in[0]->x[row * N + i] - mean;
            variance += c[row][i] * c[row][i] / N;
            g[row][i] = (double)dy[row * N + i] * in[1]->x[i];
            sum_g[row] += g[row][i];
            sum_gc[row] += g[row][i] * c[row][i];
        }
        r[row] = 1 / sqrt(variance + 1e-5);
    }
    double *beta = mistake_new("gamma_in_dbeta",
        "dbetaにgammaがかかっている。gがdyと同じ場所にあるので、dbetaはその前に計算する。\n",
        "dbeta has a factor gamma. g takes the place of dy: compute dbeta before.\n");
    double *normal = mistake_new("normal_in_dbeta",
        "dbetaは、dyの和だけである（y = ... + beta）。\n", "dbeta is the sum of dy alone (y = ... + beta).\n");
    double *last = mistake_new("last_row",
        "最後の行だけである：行についての和が要る。\n", "It is the last row alone: a sum over the rows is missing.\n");
    for (int i = 0; i < ROWS * N; i++) {
        beta[i % N] += g[i / N][i % N];
        normal[i % N] += dy[i] * c[i / N][i % N] * r[i / N];
        last[i % N] = dy[i];
    }
    compare_gradient(norm_of, in, in[2], "dbeta");
    double *gamma = mistake_new("gamma_in_dgamma",
        "dgammaにgammaがかかっている。gがdyと同じ場所にあるので、dgammaはその前に計算する。\n",
        "dgamma has a factor gamma. g takes the place of dy: compute dgamma before.\n");
    double *no_normal = mistake_new("without_normal",
        "dgammaに、正規化した値 c r（y->keptの始め）がない。\n",
        "dgamma lacks the normalized values c r (the first of y->kept).\n");
    double *no_r = mistake_new("without_r", "dgammaに、rがない。\n", "dgamma lacks r.\n");
    last = mistake_new("last_row",
        "最後の行だけである：行についての和が要る。\n", "It is the last row alone: a sum over the rows is missing.\n");
    for (int i = 0; i < ROWS * N; i++) {
        double d = dy[i] * c[i / N][i % N];
        gamma[i % N] += g[i / N][i % N] * c[i / N][i % N] * r[i / N];
        no_normal[i % N] += dy[i];
        no_r[i % N] += d;
        last[i % N] = d * r[i / N];
    }
    compare_gradient(norm_of, in, in[1], "dgamma");
    double *no_mean = mistake_new("without_mean",
        "平均を通る道がない：xは、すべての平均にも入っている（- r mean g）。\n",
        "The way through the mean is missing: x is part of the mean of all (- r mean g).\n");
    double *no_variance = mistake_new("without_variance",
        "分散を通る道がない（- r^3 / n sum(g c) c）。\n",
        "The way through the variance is missing (- r^3 / n sum(g c) c).\n");
    double *direct = mistake_new("constants",
        "平均と分散を定数と考えている：xを変えると、この二つも変わる。\n",
        "It takes mean and variance for constants: both change with x.\n");
    double *no_gamma = mistake_new("without_gamma", "gammaがない：g = dy gamma。\n", "gamma is missing: g = dy gamma.\n");
    double *not_divided = mistake_new("sum_for_mean",
        "gの平均でなく、和を引いている：nで割る。\n", "It subtracts the sum of g, not its mean: divide by n.\n");
    double *plus = mistake_new("plus_variance",
        "分散の項の符号が逆である。\n", "The term of the variance has the wrong sign.\n");
    double *r1 = mistake_new("power_of_r",
        "分散の項では、rは3乗である：cをrで割らずに使うから。\n",
        "In the term of the variance r has the power 3, since c is not multiplied by r.\n");
    double *no_n = mistake_new("variance_without_n",
        "分散の項を、nで割っていない。\n", "The term of the variance is not divided by n.\n");
    double *no_rstd = mistake_new("without_r", "全体に、rがない。\n", "The factor r of all terms is missing.\n");
    double *outside = mistake_new("gamma_outside",
        "gammaを、平均をとったあとでかけている：g = dy gamma の平均をとる。\n",
        "gamma is a factor after the means are taken: take the means of g = dy gamma.\n");
    for (int i = 0; i < ROWS * N; i++) {
        int row = i / N, j = i % N;
        double R = r[row], C = c[row][j], a = R * g[row][j], b = R * sum_g[row] / N, d = R * R * R / N * sum_gc[row] * C;
        double plain_g = 0, plain_gc = 0;
        for (int k = 0; k < N; k++) {
            plain_g += dy[row * N + k];
            plain_gc += dy[row * N + k] * c[row][k];
        }
        no_rstd[i] = (a - b - d) / R;
        outside[i] = in[1]->x[j] * (R * (dy[i] - plain_g / N) - R * R * R / N * plain_gc * C);
        no_mean[i] = a - d;
        no_variance[i] = a - b;
        direct[i] = a;
        no_gamma[i] = R * (dy[i] - plain_g / N) - R * R * R / N * plain_gc * C;
        not_divided[i] = a - N * b - d;
        plus[i] = a - b + d;
        r1[i] = a - b - d / (R * R);
        no_n[i] = a - b - N * d;
    }
    compare_gradient(norm_of, in, in[0], "dx");
}

/* ---- the tape -------------------------------------------------------------------------------------------------------- */

static void (*real_rule[8])(const Tensor *y);
static const float *node[8];
static int nodes, call[64], calls;
static float seed_gradient;
static bool freed_early;

/* The sum of the gradients of all nodes: rules alone change it, but for the start. */
static double gradients_sum(void)
{
    double total = 0;
    for (int i = 0; i < nodes; i++) {
        for (int k = 0; k < (i < nodes - 1 ? 3 : 1); k++) {
            total += node[i][(i < nodes - 1 ? 3 : 1) + k] * (i + 1.5);
        }
    }
    return total;
}

/* Stands for the rule of each node of the tape: notes the call. */
static void noted_rule(const Tensor *y)
{
    if (calls == 60) {
        course_say("ループが終わらない：on_tapeを減らしているか？\n", "The loop does not end: does on_tape become smaller?\n");
        course_wrong("endless");
    }
    for (int i = 0; i < nodes; i++) {
        if (node[i] == y->x) {
            for (int k = 0; k < course_frees && k < 16; k++) {
                freed_early = freed_early || course_freed[k] == y->x;
            }
            seed_gradient = i == nodes - 1 ? y->grad[0] : seed_gradient;
            call[calls++] = i;
            static double sum_before;
            wrong_if(calls > 1 && gradients_sum() != sum_before, "changed",
                     "規則と規則の間で、勾配が変わっている：backward() が変える勾配は、始めの、損失のものだけである。\n",
                     "Between two rules a gradient changes: backward() itself sets only that of the loss, at the start.\n");
            if (!freed_early) {
                real_rule[i](y);
            }
            sum_before = gradients_sum();
            return;
        }
    }
}

static Tensor *tape_of(Tensor **in)
{
    Tensor *h = gelu(in[0]), *twice = add(h, h);
    return squared_error(add(twice, in[1]), in[2]);
}

static void check_tape(void)
{
    Tensor *in[] = { numbers(1, 3), numbers(1, 3), numbers(1, 3) };
    dy[0] = 1;
    crash_japanese = "on_tapeより先の、ないテンソルの規則を呼んだか、解放したあとで使ったのではないか？\n";
    crash_english = "Was a rule called of a tensor that is not there (from on_tape on), or after it was freed?\n";
    Tensor *loss = tape_of(in);
    nodes = on_tape;
    for (int i = 0; i < nodes; i++) {
        node[i] = tape[i].x;
        real_rule[i] = tape[i].rule;
        tape[i].rule = noted_rule;
    }
    course_frees = 0;
    course_keeps = true;
    backward(loss);
    course_keeps = false;
    wrong_if(calls == 0, "no_rule", "規則がひとつも呼ばれない：y->rule(y)。\n", "No rule is called: y->rule(y).\n");
    wrong_if(freed_early, "freed_early", "解放（free）してから規則を呼んでいる：規則は、まだ値を読む。\n",
             "A tensor is freed before its rule is called, which reads its values.\n");
    wrong_if(call[0] == 0 && nodes > 1, "order",
             "古いものから始めている。yを読むものは、みなyより新しい：新しいものから始めて、yの勾配が完成してから、yの規則を呼ぶ。\n",
             "It begins with the oldest. All that read y are newer than y: begin with the newest, so that the gradient of y is\n"
             "complete when its rule is called.\n");
    wrong_if(call[0] != nodes - 1, "skips_loss", "いちばん新しいもの（損失）を抜かしている：最後の添字は on_tape - 1。\n",
             "It leaves out the newest, the loss: its index is on_tape - 1.\n");
    wrong_if(seed_gradient != 1, "seed", "始めに、損失の勾配（損失の、損失自身による微分）を1にする。\n",
             "First the gradient of the loss must be 1: the derivative of the loss by itself.\n");
    wrong_if(call[calls - 1] != 0, "skips_first", "いちばん古いもの（添字0）を抜かしている。\n",
             "It leaves out the oldest, index 0.\n");
    bool descending = calls == nodes;
    for (int i = 1; i < calls; i++) {
        descending = descending && call[i] == call[i - 1] - 1;
    }
    wrong_if(!descending, "each_once", "それぞれの規則を、新しいものから順に、一回ずつ呼ぶ。\n",
             "Each rule must be called once, from the newest to the oldest.\n");
    wrong_if(on_tape != 0, "not_emptied", "テープが空になっていない：次のステップは on_tape = 0 から始まる。\n",
             "The tape is not empty: the next step begins with on_tape = 0.\n");
    wrong_if(course_frees != nodes, "not_freed", "テープのテンソルの配列（y->x）を、一回ずつ解放（free）していない。\n",
             "The arrays of the tensors of the tape (y->x) are not freed once each.\n");
    compare_gradient(tape_of, in, in[0], "da");
    compare_gradient(tape_of, in, in[1], "db");
}

/* ---- Adam ------------------------------------------------------------------------------------------------------------ */

typedef enum {
    RIGHT, SAME_BETA, NOT_SQUARED, ADDED, NO_C1, NO_C2, OLD_STEP, OLD_C1, UPHILL, NO_ROOT, NO_DECAY, DECAY_ALL, DECAY_WITHOUT_LR,
    COUPLED, NO_LR, NO_AVERAGE, NO_SQUARE, EXCHANGED, OF_AVERAGE, C2_OUTSIDE, DECAY_AFTER, STEPS_EACH
} AdamMistake;

/* What Adam makes of one number: its average, its square and its change. */
static void adam_reference(AdamMistake kind, double x, double g, double average, double square, bool matrix, double result[3])
{
    const double lr = 0.5, beta2 = 0.99, decay = 0.5;
    int step = kind == OLD_STEP ? 2 : kind == STEPS_EACH && !matrix ? 4 : 3;
    double old_average = average, old_square = square;
    g += kind == COUPLED && matrix ? decay * x : 0;
    double beta1 = kind == SAME_BETA ? beta2 : 0.9;
    beta1 = kind == EXCHANGED ? 1 - beta1 : beta1;
    average = kind == NO_AVERAGE ? old_average : kind == ADDED ? average + g : beta1 * average + (1 - beta1) * g;
    double squared = kind == NOT_SQUARED ? g : kind == OF_AVERAGE ? average * average : g * g;
    square = kind == NO_SQUARE ? old_square : beta2 * square + (1 - beta2) * squared;
    double c1 = kind == NO_C1 ? 1 : 1 - pow(0.9, kind == OLD_C1 ? 2 : step), c2 = kind == NO_C2 ? 1 : 1 - pow(beta2, step);
    double shrink = kind == NO_DECAY || kind == COUPLED || (!matrix && kind != DECAY_ALL) ? 0
                    : kind == DECAY_WITHOUT_LR ? decay : lr * decay;
    double divisor = kind == NO_ROOT ? square / c2 : kind == C2_OUTSIDE ? sqrt(square) / c2 : sqrt(square / c2);
    double move = (kind == NO_LR ? 1 : lr) * (average / c1) / divisor;
    result[0] = average;
    result[1] = square;
    result[2] = (kind == UPHILL ? move : -move) - shrink * (kind == DECAY_AFTER ? x - move : x);
}

static void check_adam(void)
{
    static Parameters q;
    Tensor *t[] = { parameter_new(&q, 2, 3), parameter_new(&q, 1, 3) };
    const struct { AdamMistake kind; int of; const char *name, *japanese, *english; } usual[] = {
        { SAME_BETA, 0, "beta", "平均の係数は0.9、二乗の係数はbeta2である：取り違えている。\n",
          "The average has the factor 0.9, the square beta2: they are mixed up.\n" },
        { NO_AVERAGE, 0, "no_average", "averageが更新されていない：0.9 average + 0.1 g。\n",
          "average stays as it was: 0.9 average + 0.1 g.\n" },
        { EXCHANGED, 0, "exchanged", "0.9と0.1が逆である：前の平均に0.9、gに0.1をかける。\n",
          "0.9 and 0.1 are exchanged: 0.9 for the old average, 0.1 for g.\n" },
        { NO_SQUARE, 1, "no_square", "squareが更新されていない。\n", "square stays as it was.\n" },
        { OF_AVERAGE, 1, "square_of_average", "averageの二乗でなく、gの二乗を入れる。\n",
          "It takes the square of average, not of g.\n" },
        { C2_OUTSIDE, 2, "c2_outside", "c2が平方根の外にある：sqrt(square / c2)。\n",
          "c2 is outside the root: sqrt(square / c2).\n" },
        { DECAY_AFTER, 2, "decay_after", "動かしたあとで縮めている：縮めるのは、動かす前のxである。\n",
          "It shrinks x after the move: shrink the x from before.\n" },
        { STEPS_EACH, 2, "steps", "p->steps が、テンソルごとに増えている：呼ばれるたびに一回だけ増やす。\n",
          "p->steps grows with each tensor: add 1 once in each call.\n" },
        { ADDED, 0, "added", "勾配を加えるだけで、前の平均が小さくならない：0.9 average + 0.1 g。\n",
          "The gradient is added, and the old average does not shrink: 0.9 average + 0.1 g.\n" },
        { COUPLED, 0, "coupled", "減衰が勾配に入っている。AdamWでは、重みだけを縮める。\n",
          "The decay is in the gradient. AdamW shrinks the weight alone.\n" },
        { NOT_SQUARED, 1, "not_squared", "二乗の平均に、gでなく g g を入れる。\n",
          "The average of squares takes g g, not g.\n" },
        { NO_C1, 2, "without_c1", "averageを c1 = 1 - 0.9^step で割っていない（始めの0の補正）。\n",
          "average is not divided by c1 = 1 - 0.9^step, which corrects for the zeros of the start.\n" },
        { NO_C2, 2, "without_c2", "squareを c2 = 1 - beta2^step で割っていない（始めの0の補正）。\n",
          "square is not divided by c2 = 1 - beta2^step, which corrects for the zeros of the start.\n" },
        { OLD_STEP, 2, "old_step", "補正のステップの数がひとつ少ない：始めに p->steps を1増やす。\n",
          "The correction counts one step less: add 1 to p->steps first.\n" },
        { OLD_C1, 2, "old_step", "c1のステップの数がひとつ少ない：始めに p->steps を1増やす。\n",
          "c1 counts one step less: add 1 to p->steps first.\n" },
        { UPHILL, 2, "uphill", "損失が増えるほうへ動く：引く。\n", "It moves to a larger loss: subtract.\n" },
        { NO_ROOT, 2, "without_root", "squareでなく、その平方根で割る。\n", "Divide by the root of square.\n" },
        { NO_DECAY, 2, "without_decay", "行列の重みが縮まない：x (1 - lr decay)。\n",
          "Weights of matrices do not shrink: x (1 - lr decay).\n" },
        { DECAY_ALL, 2, "decay_of_vectors", "行が1のもの（バイアス、gamma、beta）は縮めない。\n",
          "Parameters of one row (bias, gamma, beta) do not shrink.\n" },
        { DECAY_WITHOUT_LR, 2, "decay_without_lr", "減衰にlrがかかっていない：x (1 - lr decay)。\n",
          "The decay has no factor lr: x (1 - lr decay).\n" },
        { NO_LR, 2, "without_lr", "lrがない。\n", "lr is missing.\n" },
    };
    float old[2][3][6], got[3][9];
    q.steps = 2;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < count(t[k]); i++) {
            old[k][0][i] = t[k]->average[i] = (float)next_number();
            old[k][1][i] = t[k]->square[i] = (float)fabs(next_number());
            old[k][2][i] = t[k]->x[i] = (float)next_number();
            t[k]->grad[i] = (float)next_number();
        }
    }
    float g[2][6];
    memcpy(g[0], t[0]->grad, 6 * sizeof(float));
    memcpy(g[1], t[1]->grad, 3 * sizeof(float));
    adam(&q, 0.5, 0.99, 0.5);
    for (int i = 0; i < 9; i++) {
        int k = i / 6, j = i % 6;
        got[0][i] = t[k]->average[j];
        got[1][i] = t[k]->square[j];
        got[2][i] = t[k]->x[j] - old[k][2][j];
    }
    const char *what[] = { "average", "square", "x" };
    for (int of = 0; of < 3; of++) {
        double want[9];
        for (int m = -1; m < (int)(sizeof usual / sizeof *usual); m++) {
            if (m >= 0 && usual[m].of != of) {
                continue;
            }
            double *to = m < 0 ? want : mistake_new(usual[m].name, usual[m].japanese, usual[m].english);
            for (int i = 0; i < 9; i++) {
                int k = i / 6, j = i % 6;
                double result[3];
                adam_reference(m < 0 ? RIGHT : usual[m].kind, old[k][2][j], g[k][j], old[k][0][j], old[k][1][j], k == 0, result);
                to[i] = result[of];
            }
        }
        judge(what[of], 9, got[of], NULL, want);
    }
    wrong_if(q.steps != 3, "steps", "p->steps は、呼ばれるたびに1増える。\n", "p->steps must grow by 1 with each call.\n");
    for (int i = 0; i < 9; i++) {
        wrong_if(t[i / 6]->grad[i % 6] != 0, "not_cleared",
                 "勾配が0に戻っていない：次のステップの規則が、古い勾配に加えてしまう。\n",
                 "The gradients are not cleared: the rules of the next step would add to old ones.\n");
    }
}

/* ---- initial weights ------------------------------------------------------------------------------------------------- */

static void drawn(double *to, int n, double size, bool normal)
{
    Tensor *t = numbers(1, n);
    fill(t, size, normal);
    for (int i = 0; i < n; i++) {
        to[i] = t->x[i];
    }
}

static void check_weights(void)
{
    enum { IN = 9, OUT = 4, N = IN * OUT };
    static Parameters q;
    double weight[N], bias[OUT], skipped[N];
    counter = 40;
    Linear l = linear_new(&q, IN, OUT, 0);
    uint32_t end = counter;
    counter = 40;
    drawn(weight, N, 1. / 3, false);
    drawn(bias, OUT, 1. / 3, false);
    const struct { double size; const char *name, *japanese, *english; } sizes[] = {
        { 1. / IN, "no_root", "±1 / in になっている：平方根がない。\n", "It is +-1 / in: the root is missing.\n" },
        { 3, "inverse", "±sqrt(in) になっている：逆数である。\n", "It is +-sqrt(in): take 1 / sqrt(in).\n" },
        { 1 / sqrt(OUT), "out_for_in", "±1 / sqrt(out) になっている：inで決める。\n",
          "It is +-1 / sqrt(out): in decides.\n" },
        { sqrt(6. / (IN + OUT)), "xavier", "XavierとGlorotの幅である：ここでは ±1 / sqrt(in)。\n",
          "This is the width of Xavier and Glorot: here it is +-1 / sqrt(in).\n" },
    };
    for (int k = 0; k < 4; k++) {
        double *to = mistake_new(sizes[k].name, sizes[k].japanese, sizes[k].english);
        counter = 40;
        drawn(to, N, sizes[k].size, false);
    }
    double *normal = mistake_new("normal", "一様な数でなく、正規分布の数である（fillの三つめの引数）。\n",
                                 "The numbers are normal, not uniform (third argument of fill).\n");
    counter = 40;
    drawn(normal, N, 1. / 3, true);
    double *he = mistake_new("he", "Heの始めの値（標準偏差 sqrt(2 / in) の正規分布）である：ここでは ±1 / sqrt(in) の一様な数。\n",
                             "This is He's initialization, normal with the deviation sqrt(2 / in): here it is uniform in\n"
                             "+-1 / sqrt(in).\n");
    counter = 40;
    drawn(he, N, sqrt(2. / IN), true);
    if (end != 40) {
        mistake_new("integer_division", "幅が0である：1 / in は、整数の割り算で0になる。1 / sqrt((double)in)。\n",
                    "The width is 0: 1 / in is a division of integers. 1 / sqrt((double)in).\n");
    }
    double *after = mistake_new("bias_first", "バイアスを先に埋めている：重みが先である。\n",
                                "The bias is filled first: the weight comes first.\n");
    counter = 40;
    drawn(skipped, OUT, 1. / 3, false);
    drawn(after, N, 1. / 3, false);
    judge("weight", N, l.weight->x, NULL, weight);
    double *of_out = mistake_new("bias_by_out", "バイアスの幅も、outでなくinで決まる。\n",
                                 "The width of the bias depends on in, too, not on out.\n");
    counter = 40;
    drawn(skipped, N, 1. / 3, false);
    drawn(of_out, OUT, 1 / sqrt(OUT), false);
    judge("bias", OUT, l.bias->x, NULL, bias);
    wrong_if(end != 40 + N / 4 + 1, "drawn", "乱数の数が違う：重みに一回、バイアスに一回、fillを呼ぶ。\n",
             "The number of random words is wrong: fill the weight once and the bias once.\n");

    counter = 40;
    l = linear_new(&q, IN, OUT, 0.02);
    end = counter;
    counter = 40 + N / 4 + 1;
    drawn(weight, N, 0.02, true);
    double *once = mistake_new("drawn_once",
        "一様な数を引かずに、正規分布の数を引いている。ライブラリでは、一様な数を引いたあとで、置きかえる。\n",
        "Normal numbers are drawn without the uniform ones before. In the library they replace uniform ones.\n");
    counter = 40;
    drawn(once, N, 0.02, true);
    double *ignored = mistake_new("no_deviation", "deviationを見ていない：0より大きいときは、重みを置きかえる。\n",
                                  "deviation is ignored: if it is above 0, the weights are replaced.\n");
    counter = 40;
    drawn(ignored, N, 1. / 3, false);
    double *before = mistake_new("before_bias", "正規分布の数を、バイアスを埋める前に引いている。\n",
                                 "The normal numbers are drawn before the bias is filled.\n");
    counter = 40 + N / 4;
    drawn(before, N, 0.02, true);
    double *uniform = mistake_new("uniform", "正規分布の数でなく、一様な数である（fillの三つめの引数）。\n",
                                  "The numbers are uniform, not normal (third argument of fill).\n");
    counter = 40 + N / 4 + 1;
    drawn(uniform, N, 0.02, false);
    judge("weight, deviation 0.02", N, l.weight->x, NULL, weight);
    for (int i = 0; i < OUT; i++) {
        wrong_if(l.bias->x[i] != 0, "bias_not_zero", "deviation > 0 のとき、バイアスは0である（memsetの三つめの引数は、バイトの数）。\n",
                 "If deviation > 0, the bias is 0 (the third argument of memset counts bytes).\n");
    }
    wrong_if(end != 40 + 2 * (N / 4) + 1, "drawn", "乱数の数が違う：一様な重み、バイアス、正規分布の重みを、一回ずつ引く。\n",
             "The number of random words is wrong: uniform weights, the bias, and normal weights are drawn once each.\n");
}

/* ---- softmax with cross-entropy -------------------------------------------------------------------------------------- */

static void check_loss(void)
{
    enum { ROWS = 3, N = 5 };
    const int target[] = { 1, 4, 0 };
    Tensor *x = numbers(ROWS, N);
    double p[ROWS][N], want = 0, value = 0, plain = 0, ln2 = 0;
    for (int row = 0; row < ROWS; row++) {
        double total = 0;
        for (int i = 0; i < N; i++) {
            total += p[row][i] = exp(x->x[row * N + i]);
        }
        for (int i = 0; i < N; i++) {
            p[row][i] /= total;
        }
        want -= log(p[row][target[row]]) / ROWS;
        value -= p[row][target[row]] / ROWS;
        plain -= (double)x->x[row * N + target[row]] / ROWS;
        ln2 -= log2(p[row][target[row]]) / ROWS;
    }
    Tensor *y = cross_entropy(x, target);
    *mistake_new("sum_of_rows", "行の平均でなく、和である：rowsで割る。\n", "It is the sum of the rows: divide by rows.\n") = want * ROWS;
    *mistake_new("no_log", "確率の対数がない：-ln p。\n", "The logarithm of the probability is missing: -ln p.\n") = value;
    *mistake_new("no_log_sum", "logitだけを使っている：ln sum e^x がない（正規化）。\n",
                 "It uses the logit alone: ln sum e^x, which normalizes, is missing.\n") = plain;
    *mistake_new("log2", "自然対数でなく、2の対数である。\n", "It is the logarithm to base 2, not the natural one.\n") = ln2;
    *mistake_new("last_row", "最後の行だけである：行の和をとる（+=）。\n",
                 "It is the last row alone: sum the rows (+=).\n") = -log(p[ROWS - 1][target[ROWS - 1]]) / ROWS;
    *mistake_new("mean_over_n", "行の数（x->rows）でなく、列の数で割っている。\n",
                 "It is divided by the number of columns, not of rows (x->rows).\n") = want * ROWS / N;
    *mistake_new("same_target", "どの行でも targets[0] を見ている：targets[row]。\n",
                 "It looks at targets[0] in each row: targets[row].\n") =
        -(log(p[0][target[0]]) + log(p[1][target[0]]) + log(p[2][target[0]])) / ROWS;
    double without_largest = want, twice = want;
    for (int row = 0; row < ROWS; row++) {
        double largest = -INFINITY;
        for (int i = 0; i < N; i++) {
            largest = fmax(largest, x->x[row * N + i]);
        }
        without_largest -= largest / ROWS;
        twice += largest / ROWS;
    }
    *mistake_new("largest",
        "softmax_termsの和は、e^(x - largest) の和である：logitからも、largestを引く。\n",
        "softmax_terms returns the sum of e^(x - largest): subtract largest from the logit, too.\n") = without_largest;
    *mistake_new("largest_twice", "largestの符号が逆である。\n", "largest has the wrong sign.\n") = twice;
    judge("loss", 1, y->x, NULL, (double[]){ want });
    double gradient[ROWS * N];
    double *no_one = mistake_new("without_target", "p だけである：目標のところから1を引く。\n",
                                 "It is p alone: subtract 1 at the target.\n");
    double *plus = mistake_new("plus_target", "目標のところで、1を足している：引く。\n",
                               "1 is added at the target: subtract it.\n");
    double *only = mistake_new("target_only", "目標のところだけである：ほかのlogitも、pだけ損失を変える。\n",
                               "It is the target alone: the other logits change the loss, too, by p.\n");
    double *not_scaled = mistake_new("sum_of_rows", "rowsで割っていない：損失は行の平均である。\n",
                                     "It is not divided by rows: the loss is the mean of the rows.\n");
    double *unscaled_one = mistake_new("one_not_divided", "pはrowsで割ってあるが、1は割っていない。\n",
                                       "p is divided by rows, but 1 is not.\n");
    double *unscaled_p = mistake_new("p_not_divided", "1はrowsで割ってあるが、pは割っていない。\n",
                                     "1 is divided by rows, but p is not.\n");
    double *terms = mistake_new("not_normalized", "e^(x - largest) を和で割っていない：確率の和は1である。\n",
                                "e^(x - largest) is not divided by its sum: probabilities have the sum 1.\n");
    double *at_row = mistake_new("at_row", "1を、目標 targets[row] でなく、rowのところから引いている。\n",
                                 "1 is subtracted at row, not at the target, targets[row].\n");
    for (int i = 0; i < ROWS * N; i++) {
        int row = i / N;
        at_row[i] = (p[row][i % N] - (row == i % N)) / ROWS;
        double q = p[row][i % N], one = target[row] == i % N, largest = 0;
        for (int k = 0; k < N; k++) {
            largest = fmax(largest, p[row][k]);
        }
        gradient[i] = (q - one) / ROWS;
        no_one[i] = q / ROWS;
        plus[i] = (q + one) / ROWS;
        only[i] = one * (q - 1) / ROWS;
        not_scaled[i] = q - one;
        unscaled_one[i] = q / ROWS - one;
        unscaled_p[i] = q - one / ROWS;
        terms[i] = (q / largest - one) / ROWS;
    }
    judge("dx", ROWS * N, y->kept, NULL, gradient);
    x->x[0] = 200;
    x->x[5] = -200;
    y = cross_entropy(x, target);
    wrong_if(!isfinite(y->x[0]) || !isfinite(y->kept[0]) || !(fabsf(y->kept[0]) < 1), "large",
             "logitが200のとき、無限大かnanになる：largestを引いてから、指数関数を使う。\n",
             "With a logit of 200 it is infinite or nan: subtract largest before the exponential.\n");
    clear_tape();
}

/* ---- attention ------------------------------------------------------------------------------------------------------- */

enum { SENTENCES = 2, LENGTH = 3, HEADS = 2, WIDTH = 4, ALL = SENTENCES * LENGTH * HEADS * WIDTH };
typedef enum {
    CAUSAL, NO_MASK, REVERSED, MASK_AFTER, ZERO_SCORES, NOT_DIVIDED, ONE_TOO_MANY, NO_SCALE, SCALE_TWICE, NO_SOFTMAX, BY_COLUMNS,
    STRICT, NOT_ZEROED, TRANSPOSED, EXCHANGED_QK, KEYS_FOR_VALUES, ONE_SENTENCE, TIMES_SUM
} AttentionMistake;

/* Computes y and the weights w in double, correctly or with a mistake. */
static void attention_reference(AttentionMistake kind, const float *qkv, double *y, double *w)
{
    const int n = HEADS * WIDTH;
    for (int i = 0; i < ALL; i++) {
        y[i] = 0;
    }
    for (int h = 0; h < SENTENCES * HEADS; h++) {
        if (kind == ONE_SENTENCE && h >= HEADS) {
            break;
        }
        const float *start = qkv + h / HEADS * LENGTH * 3 * n + h % HEADS * WIDTH;
        const float *q = kind == EXCHANGED_QK ? start + n : start, *k = kind == EXCHANGED_QK ? start : start + n;
        const float *v = kind == KEYS_FOR_VALUES ? start + n : start + 2 * n;
        double e[LENGTH][LENGTH], hidden[LENGTH][LENGTH], column[LENGTH] = { 0 };
        for (int i = 0; i < LENGTH; i++) {
            for (int j = 0; j < LENGTH; j++) {
                double score = 0;
                for (int d = 0; d < WIDTH; d++) {
                    score += (double)q[i * 3 * n + d] * k[j * 3 * n + d];
                }
                score *= kind == NO_SCALE ? 1 : kind == SCALE_TWICE ? 1. / WIDTH : 1 / sqrt(WIDTH);
                bool seen = kind == REVERSED ? j >= i : kind == ONE_TOO_MANY ? j <= i + 1 : kind == STRICT ? j < i : j <= i;
                bool counts = seen || kind == NO_MASK || kind == MASK_AFTER || kind == ZERO_SCORES;
                e[i][j] = !counts ? 0 : kind == NO_SOFTMAX ? score : exp(kind == ZERO_SCORES && !seen ? 0 : score);
                column[j] += e[i][j];
                hidden[i][j] = score;
            }
        }
        for (int i = 0; i < LENGTH; i++) {
            double total = 0, largest = 0;
            for (int j = 0; j < LENGTH; j++) {
                total += e[i][j];
                largest = fmax(largest, e[i][j]);
            }
            for (int j = 0; j < LENGTH; j++) {
                double weight = e[i][j] / (kind == NOT_DIVIDED ? largest : kind == NO_SOFTMAX ? 1
                                           : kind == BY_COLUMNS ? column[j] : total);
                weight = kind == TIMES_SUM ? e[i][j] / largest * (total / largest) : kind == STRICT && i == 0 ? 0 : weight;
                weight = kind == MASK_AFTER && j > i ? 0 : kind == NOT_ZEROED && j > i ? hidden[i][j] : weight;
                w[(h * LENGTH + i) * LENGTH + j] = weight;
                for (int d = 0; d < WIDTH; d++) {
                    int to = kind == TRANSPOSED ? j : i, from = kind == TRANSPOSED ? i : j;
                    y[(h / HEADS * LENGTH + to) * n + h % HEADS * WIDTH + d] += weight * v[from * 3 * n + d];
                }
            }
        }
    }
}

static void check_attention(void)
{
    Tensor *qkv = numbers(SENTENCES * LENGTH, 3 * HEADS * WIDTH);
    for (int i = 0; i < count(qkv); i++) {
        qkv->x[i] *= 1.5f;
    }
    const struct { AttentionMistake kind; const char *name, *japanese, *english; } usual[] = {
        { NO_MASK, "no_mask", "マスクがない：すべてのトークンが、あとのトークンも見ている。\n",
          "There is no mask: each token sees later ones, too.\n" },
        { REVERSED, "reversed", "マスクが逆である：トークンiは、0からiまでを見る。\n",
          "The mask is reversed: token i sees 0 to i.\n" },
        { MASK_AFTER, "mask_after", "マスクがsoftmaxのあとにある：残った重みの和が1にならない。softmaxには、0からiまでだけを入れる。\n",
          "The mask acts after the softmax: the weights that are left do not have the sum 1. Only 0 to i go into the softmax.\n" },
        { ZERO_SCORES, "zero_scores", "見えないトークンのスコアを0にしている：e^0 = 1 なので、重みが残る。和に入れない。\n",
          "The scores of hidden tokens are set to 0: e^0 = 1 leaves them a weight. They must not be in the sum.\n" },
        { ONE_TOO_MANY, "one_too_many", "トークンiが、i + 1 も見ている：softmaxに入れるのは、i + 1 個（0からi）である。\n",
          "Token i sees i + 1, too: i + 1 items (0 to i) go into the softmax.\n" },
        { STRICT, "not_itself", "トークンiが、自分自身を見ていない：0からiまで、i + 1 個である。\n",
          "Token i does not see itself: it sees 0 to i, which are i + 1.\n" },
        { NOT_ZEROED, "not_zeroed", "見えないトークンに、点数がそのまま重みとして残っている：0にする。\n",
          "Hidden tokens keep their scores for weights: set them to 0.\n" },
        { TRANSPOSED, "transposed_weights", "w v でなく w^T v になっている。\n", "It is w^T v, not w v.\n" },
        { EXCHANGED_QK, "exchanged", "qとkが逆である：点数の行は問い合わせq、列は鍵k。\n",
          "q and k are exchanged: rows of the scores belong to queries q, columns to keys k.\n" },
        { KEYS_FOR_VALUES, "keys_for_values", "vでなくkを足している：part() のVALUESがvである。\n",
          "It adds k in place of v: v is VALUES of part().\n" },
        { ONE_SENTENCE, "one_sentence", "最初の文だけである：hは rows / length * heads まで。\n",
          "It is the first sentence alone: h goes to rows / length * heads.\n" },
        { TIMES_SUM, "times_sum", "和をかけている：和で割る。\n", "It multiplies by the sum: divide by it.\n" },
        { NOT_DIVIDED, "not_divided", "e^(x - largest) を和で割っていない。\n", "e^(x - largest) is not divided by its sum.\n" },
        { NO_SCALE, "no_scale", "スコアに 1 / sqrt(width) がない：part(y, h, qkv->x, QUERIES) がもっている。\n",
          "The scores have no factor 1 / sqrt(width): part(y, h, qkv->x, QUERIES) has it.\n" },
        { SCALE_TWICE, "scale_twice", "1 / sqrt(width) が二回かかっている：part() のQUERIESが、もうもっている。\n",
          "The factor 1 / sqrt(width) acts twice: QUERIES of part() has it already.\n" },
        { NO_SOFTMAX, "no_softmax", "softmaxがない：スコアをそのまま重みにしている。\n",
          "There is no softmax: scores are taken for weights.\n" },
        { BY_COLUMNS, "by_columns", "列の和で割っている：ひとつのトークンの重みは、ひとつの行である。\n",
          "It divides by the sums of columns: the weights of one token are a row.\n" },
    };
    static double y_wanted[MOST], w_wanted[MOST], unused[MOST];
    crash_japanese = "wの場所は y->kept + 2 * h * length * length で、length * length 個の数をもつ。\n";
    crash_english = "The place of w is y->kept + 2 * h * length * length, with length * length numbers.\n";
    Tensor *y = attention(qkv, HEADS, LENGTH);
    attention_reference(CAUSAL, qkv->x, y_wanted, w_wanted);
    for (int k = 0; k < (int)(sizeof usual / sizeof *usual); k++) {
        attention_reference(usual[k].kind, qkv->x,
                            mistake_new(usual[k].name, usual[k].japanese, usual[k].english), unused);
    }
    judge("y", ALL, y->x, NULL, y_wanted);
    const int n = LENGTH * LENGTH;
    for (int i = 0; i < SENTENCES * HEADS * n; i++) {
        wrong_if(!(fabs(y->kept[i / n * 2 * n + i % n] - w_wanted[i]) < 1e-3), "kept",
                 "yは正しいが、重みwが y->kept + 2 * h * length * length にない：attention_rule() が、そこから読む。\n",
                 "y is right, but the weights w are not at y->kept + 2 * h * length * length, where attention_rule()\n"
                 "reads them.\n");
    }
    for (int i = 0; i < SENTENCES * HEADS * n; i++) {
        wrong_if(y->kept[(i / n * 2 + 1) * n + i % n] != 0, "rest_of_kept",
                 "wのあとの length * length 個は、0のままにする：attention_rule() が、そこに加える。\n",
                 "The length * length numbers after w must stay 0: attention_rule() adds to them.\n");
    }
    clear_tape();
}

/* ---- the check ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*check)(void);
    bool is_gpt;
    const char *japanese, *english;         /* where bits differ though numbers are right */
} assignment[] = {
    { "relu", check_relu, false, "", "" },
    { "linear", check_linear, false, "積は、どちらもCHAINで加える。\n", "Both products add in chains of CHAIN.\n" },
    { "tape", check_tape, false, "", "" },
    { "adam", check_adam, false, "丸める順番：fmaf、floatへの変換、1 / sqrt(c2) をかけること、1e-8を加える場所。\n",
      "The places of rounding: fmaf, conversions to float, the factor 1 / sqrt(c2), where 1e-8 is added.\n" },
    { "weights", check_weights, false, "", "" },
    { "loss", check_loss, true, "確率は、exponential(logit - largest - (float)log_sum) に 1 / rows をかけたものである。\n",
      "A probability is exponential(logit - largest - (float)log_sum), and then times 1 / rows.\n" },
    { "embedding", check_embedding, true, "dyの行は、ひとつずつ、表の勾配に直接加える：SINGLE。\n",
      "Rows of dy are added one by one to the gradient of the table itself: SINGLE.\n" },
    { "gelu", check_gelu, true, "duと全体の式で、どこがfmafかを、文章で確かめる。\n",
      "See in the text where du and the whole formula have an fmaf.\n" },
    { "norm", check_norm, true, "係数はdoubleで計算してからfloatにし、三つの項は fmaf(-slope, t, fmaf(rstd, g, shift)) とする。\n",
      "Compute the factors in double, round them to float; the three terms are fmaf(-slope, t, fmaf(rstd, g, shift)).\n" },
    { "attention", check_attention, true, "積はCHAINで加え、和の逆数をfloatにしてからかける。\n",
      "Products add in chains of CHAIN; the inverse of the sum is rounded to float, and then a factor.\n" },
};

/* Trains as tiny does, and compares the hashes. */
static bool hash_is_equal(bool is_gpt)
{
    static char *skip[] = { OPTIONS_SKIP }, *gpt_options[] = { OPTIONS_GPT };
    const char *expected = is_gpt ? EXPECTED_GPT : EXPECTED_SKIP;
    char **options = is_gpt ? gpt_options : skip;
    int n = 0;
    while (options[n]) {
        n++;
    }
    counter = 0;
    course_quiet = true;
    tiny(n, options);
    course_quiet = false;
    char hashes[512] = "";
    for (char *line = strtok(course_log, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "SHA-256", 7) == 0 && strlen(hashes) + strlen(line) + 2 < sizeof hashes) {
            strcat(strcat(hashes, line), "\n");
        }
    }
    return strcmp(hashes, expected) == 0;
}

int main(int argc, char **argv)
{
    bool chosen = argc > 1 && (strcmp(argv[1], "ja") == 0 || strcmp(argv[1], "en") == 0);
    if (argc > 1 && !chosen) {
        return tiny(argc, argv);
    }
    course_language = chosen ? argv[1] : "";
#ifdef _WIN32
    system("chcp 65001 >nul");
#endif
    static char out[BUFSIZ];                /* not from malloc, which a wrong write may have broken */
    setvbuf(stdout, out, _IOLBF, sizeof out);
    signal(SIGSEGV, crashed);
    signal(SIGFPE, crashed);
    signal(SIGABRT, crashed);
    int k = 0;
    while (strcmp(assignment[k].name, COURSE_NAME) != 0) {
        k++;
    }
    assignment[k].check();
    crash_japanese = "短い学習の途中である。\n";
    crash_english = "This is in the short training.\n";
    if (!hash_is_equal(assignment[k].is_gpt)) {
        course_say("数は正しいが、学習した重みのハッシュが違う：ビットが違う（課題の文章の「ビットのために」）。\n",
                   "The numbers are right, but the hash of the trained weights differs: other bits (\"For the bits\" in the text).\n");
        course_say(assignment[k].japanese, assignment[k].english);
        course_wrong("bits");
    }
    course_say("学習した重みのSHA-256が、ライブラリのものと等しい：正解。\n",
               "The SHA-256 of the trained weights is that of the library: right.\n");
    printf("[%s.right]%s\n", COURSE_NAME, COURSE_TOKEN);
    return 0;
}
