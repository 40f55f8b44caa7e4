/* check.h: stands at the end of each assignment: checks what was written there, first by gradients, then by the hash of a short
 * training. A usual mistake has its formula here, in double: numbers that are equal to it get its hint. */
#include <signal.h>

/* Only the check of this assignment is compiled, for the grader's speed. Not each one needs all functions of this file. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "bits.h"
#include "expected.h"

/* ---- numbers --------------------------------------------------------------------------------------------------------- */

enum { MOST = 256 };                        /* numbers that are compared at a time */

typedef struct {
    const char *name, *japanese, *english;
    double x[MOST];
} Mistake;
static Mistake mistake[48];                 /* of the numbers that are compared next */
static int mistakes;

static double *mistake_new(const char *name, const char *japanese, const char *english)
{
    mistake[mistakes] = (Mistake){ name, japanese, english, { 0 } };
    return mistake[mistakes++].x;
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

static void (*look_closer)(void);           /* says where a mistake must be, if no usual one has these numbers */
/* What it may mean that no number changes, or that one is infinite. */
static const char *nothing_japanese = "", *nothing_english = "", *infinite_japanese = "", *infinite_english = "";

/* Compares n numbers, in rows of so many columns. If `start` is not NULL, `got` is a gradient that was `start`, to which `want`
 * should have been added. */
static void judge(const char *what, int n, int columns, const float *got, const float *start, const double *want)
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
        course_say(infinite_japanese, infinite_english);
        course_wrong("not_finite");
    }
    try_mistakes(n, added);
    if (same && largest > 0) {
        course_say("何も届いていない：ここに書くところが、まだないか、実行されていない。\n",
                   "Nothing arrives: what writes here is missing, or does not run.\n");
        course_say(nothing_japanese, nothing_english);
        course_wrong("nothing");
    }
    if (start && all_equal(n, all, want)) {
        course_say("数は正しいが、前からあった勾配が消えている。ほかの演算も同じテンソルに加える：= でなく += ではないか？\n",
                   "The numbers are right, but the gradient from before is lost. Others add to the same tensor, too: is there\n"
                   "a = for +=?\n");
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
    int wrong = 0, first = -1, zeros = 0;
    for (int i = 0; i < n; i++) {
        if (!(fabs(added[i] - want[i]) <= 3e-3 * largest)) {
            wrong++;
            zeros += added[i] == 0;
            first = first < 0 ? i : first;
        }
    }
    course_say("%d個のうち %d個が違う。始めは [%d][%d]：正しい値は %.6g、あなたの値は %.6g。\n",
               "Of %d numbers %d are wrong. The first is [%d][%d]: %.6g is right, yours is %.6g.\n", n, wrong, first / columns,
               first % columns, want[first], added[first]);
    if (look_closer) {
        look_closer();
    }
    if (zeros == wrong) {
        course_say("違うところは、どれも0である：条件かループが、そこを抜かしていないか？\n",
                   "Where they are wrong, yours are 0: does a condition or a loop leave them out?\n");
        course_wrong("missing");
    }
    if (first % columns == 0 && first > 0 && columns > 1 && wrong > (n - first) / 2) {
        course_say("始めの行は正しい：行の始まり（row * n）か、行ごとに0から始める変数を確かめる。\n",
                   "The rows before are right: see where a row begins (row * n), and what begins anew in each row.\n");
    }
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

#if !defined _WIN32 && !defined __STRICT_ANSI__
#include <unistd.h>
#ifndef COURSE_SECONDS
#define COURSE_SECONDS 30                   /* that a check may take */
#endif

static void too_late(int number)
{
    (void)number;
    course_quiet = false;
    course_say("%d秒で終わらない：終わらないループがあるのではないか？\n",
               "It does not end within %d seconds: is there a loop without end?\n", COURSE_SECONDS);
    printf("[%s.endless]\n", COURSE_NAME);
    fflush(stdout);
    _Exit(1);
}

static void limit_time(void)
{
    signal(SIGALRM, too_late);
    alarm(COURSE_SECONDS);
}
#else
static void limit_time(void) { }
#endif

static void compare_gradient(Forward forward, Tensor **in, Tensor *t, const char *what)
{
    double want[MOST];
    numerical(forward, in, t, want);
    judge(what, count(t), t->n, t->grad, t->square, want);
}

/* ---- relu and gelu --------------------------------------------------------------------------------------------------- */

#if defined COURSE_relu || defined COURSE_gelu
static float (*mapped)(float x, float dy);  /* the function that is checked */
static double (*slope_of)(double x);        /* what it should return for dy = 1 */
static double relu_slope(double x) { return x > 0; }

static double gelu_slope(double x)
{
    double A = GELU_A, B = GELU_B, s = 1 / (1 + exp(-(A * x + B * x * x * x)));
    return s + x * s * (1 - s) * (A + 3 * B * x * x);
}

static void look_at_map(void)
{
    bool right[2] = { true, true };
    for (int i = 0; i < 8; i++) {
        float x = i < 4 ? (float)(0.3 + 0.4 * i) : (float)(1.3 - 0.4 * i), y = mapped(x, 1);
        wrong_if(fabsf(mapped(x, 0)) > 1e-6f || !(fabsf(mapped(x, 0.5f) - y / 2) < 1e-4f) ||
                     !(fabsf(mapped(x, 2) - 2 * y) < 1e-4f) || !(fabsf(mapped(x, -1) + y) < 1e-4f),
                 "not_times_dy", "結果がdyに比例していない：傾きの全体にdyをかける。dyが0なら、結果も0である。\n",
                 "The result is not in proportion to dy: dy multiplies the whole slope. If dy is 0, so is the result.\n");
        right[i / 4] = right[i / 4] && fabs(y - slope_of(x)) < 1e-3;
    }
    wrong_if(right[0] && !right[1], "below_zero", "xが正なら正しいが、負のときに違う：x < 0 の場合を確かめる。\n",
             "It is right where x is positive, and wrong where x is negative: see the case x < 0.\n");
    wrong_if(right[1] && !right[0], "above_zero", "xが負なら正しいが、正のときに違う：x > 0 の場合を確かめる。\n",
             "It is right where x is negative, and wrong where x is positive: see the case x > 0.\n");
    for (int i = 0; i < 2; i++) {
        float x = i == 0 ? 1 : -1;
        course_say("x = %g での傾きは %.4g のはずで、あなたの値は %.4g。\n", "At x = %g the slope should be %.4g; yours is %.4g.\n",
                   (double)x, slope_of(x), (double)mapped(x, 1));
    }
#if defined COURSE_gelu
    wrong_if(mapped(-1, 1) == mapped(-2, 1) && mapped(1, 1) == mapped(2, 1), "limits",
             "傾きがxによらない：xを収める範囲が逆か、狭い。fminf(16, fmaxf(-16, x))。\n",
             "The slope does not depend on x: the limits of x are exchanged or too near: fminf(16, fmaxf(-16, x)).\n");
    wrong_if(!(fabsf(mapped(0, 1) - 0.5f) < 1e-4f), "first_term", "x = 0 での傾きは、s(0) = 0.5 だけのはずである：uと、一つめの項 s(u) を確かめる。\n",
             "At x = 0 the slope should be s(0) = 0.5 alone: see u, and the first term, s(u).\n");
    wrong_if(true, "second_term", "x = 0 では正しい：u = A x + B x^3 と、二つめの項 x s'(u) du を確かめる。\n",
             "At x = 0 it is right: see u = A x + B x^3, and the second term, x s'(u) du.\n");
#endif
}

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
    double *no_size = mistake_new("negative_dy",
        "負のdyが消えている：FLT_MINと比べるのは、dyの大きさ fabsf(dy) である。\n",
        "A negative dy is lost: it is the size of dy, fabsf(dy), that is compared with FLT_MIN.\n");
    double *below = mistake_new("x_for_0", "xが負のところで、0でなくxを返している。\n",
                                "It returns x, not 0, where x is negative.\n");
    for (int i = 0; i < count(in[0]); i++) {
        no_size[i] = x[i] > 0 && dy[i] > 0 ? dy[i] : 0;
        below[i] = x[i] > 0 ? dy[i] : x[i];
        absolute[i] = x[i] < 0 ? -dy[i] : dy[i];
        leaky[i] = x[i] < 0 ? 0.01 * dy[i] : dy[i];
        one[i] = x[i] > 0;
        of_dy[i] = dy[i] > 0 ? dy[i] : 0;
        mirrored[i] = x[i] < 0 ? dy[i] : 0;
        all[i] = dy[i];
        value[i] = x[i] > 0 ? x[i] * dy[i] : 0;
    }
    mapped = relu_gradient;
    slope_of = relu_slope;
    look_closer = look_at_map;
    compare_gradient(relu_of, in, in[0], "dx");
    wrong_if(relu_gradient(-1, 1) != 0, "not_zero", "xが負のとき、結果は、小さな数でなく、ちょうど0である。\n",
             "Where x is negative the result is exactly 0, not a small number.\n");
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
    double *dy_second = mistake_new("dy_on_one_term", "dyが、二つめの項だけにかかっている：二つの項の和にかける。\n",
                                    "dy is a factor of the second term alone: it multiplies the sum of both.\n");
    double *dy_first = mistake_new("dy_on_one_term", "dyが、一つめの項だけにかかっている：二つの項の和にかける。\n",
                                   "dy is a factor of the first term alone: it multiplies the sum of both.\n");
    double *b_times_a = mistake_new("constants",
        "u = A (x + 0.044715 x^3) の式を使っている：ここのBは 0.044715 A なので、u = A x + B x^3。\n",
        "It is the formula u = A (x + 0.044715 x^3): here B is 0.044715 A, so u = A x + B x^3.\n");
    double *power_2 = mistake_new("power", "x^3の微分は3 x^2である：xの2乗がない。\n",
                                  "The derivative of x^3 is 3 x^2: the square of x is missing.\n");
    double *power_3 = mistake_new("power", "x^3の微分は3 x^2である：xの2乗がない。\n",
                                  "The derivative of x^3 is 3 x^2: the square of x is missing.\n");
    double *value = mistake_new("value", "yの値をかけている：積の微分は、y' = s(u) + x s'(u) du である。\n",
                                "It multiplies by the value of y: the product rule is y' = s(u) + x s'(u) du.\n");
    double *second = mistake_new("second_term_only", "積の微分の、一つめの項 s(u) がない。\n",
                                 "The first term of the derivative of a product, s(u), is missing.\n");
    double *other_u = mistake_new("other_function", "x s(1.702 x) の微分である：ここでは u = A x + B x^3。\n",
                                  "This is the derivative of x s(1.702 x): here u = A x + B x^3.\n");
    double form[15], erf_form[15];
    for (int i = 0; i < count(in[0]); i++) {
        double a = x[i], A = GELU_A, B = GELU_B, s = 1 / (1 + exp(-(A * a + B * a * a * a)));
        double slope = s * (1 - s), du = A + 3 * B * a * a, other_s = 1 / (1 + exp(-A * (a + B * a * a * a)));
        form[i] = dy[i] * (s + a * slope * du);
        erf_form[i] = dy[i] * ((1 + erf(a / sqrt(2))) / 2 + a * exp(-a * a / 2) * 0.3989422804014327);
        double s_702 = 1 / (1 + exp(-1.702 * a));
        other_u[i] = dy[i] * (s_702 + a * s_702 * (1 - s_702) * 1.702);
        dy_second[i] = s + dy[i] * a * slope * du;
        dy_first[i] = s * dy[i] + a * slope * du;
        b_times_a[i] = dy[i] * (other_s + a * other_s * (1 - other_s) * A * (1 + 3 * B * a * a));
        power_2[i] = dy[i] * (s + a * slope * (A + 2 * B * a));
        power_3[i] = dy[i] * (s + a * slope * (A + 3 * B * a));
        value[i] = dy[i] * a * s * slope * du;
        second[i] = dy[i] * a * slope * du;
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
    mapped = gelu_gradient;
    slope_of = gelu_slope;
    look_closer = look_at_map;
    nothing_japanese = "書いてあるなら：xを収める範囲が逆ではないか？ fminf(16, fmaxf(-16, x))。\n";
    nothing_english = "If it is written: are the limits of x exchanged? fminf(16, fmaxf(-16, x)).\n";
    compare_gradient(gelu_of, in, in[0], "dx");
    double off = 0, erf_off = 0;
    for (int i = 0; i < 15; i++) {
        double got = (double)in[0]->grad[i] - in[0]->square[i];
        off = fmax(off, fabs(got - form[i]));
        erf_off = fmax(erf_off, fabs(got - erf_form[i]));
    }
    wrong_if(erf_off < off, "erf", "erfを使ったGELUの微分である：ここのGELUは x s(u) で、少し違う関数である。\n",
             "This is the derivative of GELU with erf: here GELU is x s(u), a slightly different function.\n");
    const float far[] = { 1e30f, 30, -30, -1e30f };
    for (int i = 0; i < 4; i++) {
        if (!(fabsf(gelu_gradient(far[i], 1) - (float)(i < 2)) < 1e-6f)) {
            course_say("x = %g では %d のはずである：xを-16から16までに収めてから計算する。\n",
                       "At x = %g it should be %d: limit x to -16..16 first.\n", (double)far[i], i < 2);
            course_wrong("far");
        }
    }
}
#endif

/* ---- linear and embedding -------------------------------------------------------------------------------------------- */

#if defined COURSE_linear || defined COURSE_embedding
static Tensor *linear_of(Tensor **in) { return linear(in[0], in[1]); }
static Tensor *embedding_of(Tensor **in) { return embedding(in[0], in[1]); }

/* Runs the rule with a dy that is 1 at one place: then dW should be a row of x. */
static void look_at_dw(void)
{
    for (int place = 0; place < 3 * 2; place++) {
        Tensor *in[] = { numbers(3, 4), numbers(2, 4) };
        memset(dy, 0, sizeof dy);
        dy[place] = 1;
        run_rule(linear_of, in);
        bool arrives = false, elsewhere = false;
        for (int i = 0; i < 8; i++) {
            bool changed = in[1]->grad[i] != in[1]->square[i];
            arrives = arrives || (changed && i / 4 == place % 2);
            elsewhere = elsewhere || (changed && i / 4 != place % 2);
        }
        course_say("dyが [%d][%d] だけで1のとき、dWの行%dはxの行%d、ほかの行は0のはずである。\n",
                   "If dy is 1 at [%d][%d] alone, row %d of dW should be row %d of x, and other rows 0.\n", place / 2,
                   place % 2, place % 2, place / 2);
        wrong_if(elsewhere, "other_row_of_dw", "ほかの行にも届いている：dWの行oは、dy[r][o] だけによる。\n",
                 "Others change, too: row o of dW depends on dy[r][o] alone.\n");
        wrong_if(!arrives, "row_left_out", "dWの、どの数も変わらない：ループの始まりと終わりを確かめる。\n",
                 "None of dW changes: see where the loops begin and end.\n");
    }
}

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
    double *running = mistake_new("running_sum", "和が、次の数に持ちこされている：和の変数は、数ごとに0から始める。\n",
                                  "The sum goes on into the next number: its variable begins at 0 for each one.\n");
    for (int i = 0; i < 8; i++) {
        running[i] = i == 0 ? 0 : running[i - 1];
        for (int row = 0; row < 3; row++) {
            running[i] += (double)dy[row * 2 + i / 4] * x->x[row * 4 + i % 4];
        }
    }
    double *turned_dw = mistake_new("index_of_dw", "dWの添字が逆である：dW[o][k] は weight->grad[o * in + k]。\n",
                                    "The indices of dW are exchanged: dW[o][k] is weight->grad[o * in + k].\n");
    for (int i = 0; i < 3 * 2 * 4; i++) {
        int row = i / 8, o = i / 4 % 2, k = i % 4;
        turned_dw[k * 2 + o] += (double)dy[row * 2 + o] * x->x[row * 4 + k];
        last[o * 4 + k] = (double)dy[row * 2 + o] * x->x[row * 4 + k];
        with_y[o * 4 + k] += (double)y[row * 2 + o] * x->x[row * 4 + k];
        gradient_of_x[o * 4 + k] += (double)dy[row * 2 + o] * x->square[row * 4 + k];
        twice[o * 4 + k] += 2. * dy[row * 2 + o] * x->x[row * 4 + k];
    }
    look_closer = look_at_dw;
    compare_gradient(linear_of, in, w, "dW");
    look_closer = NULL;
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
    memcpy(w->grad, w->square, (size_t)count(w) * sizeof *w->grad);
    run_rule(linear_of, in);
    wrong_if(memcmp(w->grad, w->square, (size_t)count(w) * sizeof *w->grad) == 0, "data",
             "xがデータのとき（x->gradがNULL）、dWが計算されない：要らないのは、dxだけである。\n",
             "If x is data (x->grad is NULL), dW does not arrive: only dx is not needed.\n");
}

static Tensor *onehot, *table;              /* that are checked; no token has the ids 1, 3, 5 */

static void look_at_table(void)
{
    for (int i = 0; i < count(table); i++) {
        wrong_if(i / table->n % 2 == 1 && table->grad[i] != table->square[i], "unused_row",
                 "どのトークンにも使われていない行にも、勾配が届いている：行rは、そのIDの行だけに加える。\n",
                 "A row that no token has selected gets a gradient: row r is added to the row of its id alone.\n");
    }
    for (int row = 0; row < onehot->rows; row++) {
        Tensor *in[] = { onehot, numbers(table->rows, table->n) };
        memset(dy, 0, sizeof dy);
        dy[row * table->n] = 1;
        run_rule(embedding_of, in);
        for (int v = 0; v < table->rows; v++) {
            bool changed = in[1]->grad[v * table->n] != in[1]->square[v * table->n], own = onehot->x[row * onehot->n + v] == 1;
            if (changed != own) {
                course_say(changed ? "dyの行%dが、表の行%dに届いている。届かないはずである。\n" : "dyの行%dが、表の行%dに届いていない。\n",
                           changed ? "Row %d of dy arrives at row %d of the table, but should not.\n"
                                   : "Row %d of dy does not arrive at row %d of the table.\n", row, v);
                course_wrong("wrong_row");
            }
        }
    }
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
    double *as_ids = mistake_new("onehot_for_ids",
        "onehotの数をIDと考えている：行rのIDは、onehot[r][v] が1であるvである。\n",
        "The numbers of onehot are taken for ids: the id of row r is the v where onehot[r][v] is 1.\n");
    double *width = mistake_new("width_of_onehot",
        "onehotの行の始まりが違う：onehotの列の数は、yの列の数でなく、y->in[0]->n である。\n",
        "Rows of onehot begin elsewhere: it has y->in[0]->n columns, not those of y.\n");
    double *once = mistake_new("first_only", "同じIDが二回以上現れるとき、最初の行だけを加えている：すべての行を加える。\n",
                               "If an id appears more than once, only its first row is added: add all of them.\n");
    const int uses[] = { 1, 0, 3, 0, 1, 0 };
    for (int i = 0; i < 15; i++) {
        int to = ids[i / 3] * 3 + i % 3;
        as_ids[(int)in[0]->x[i / 3] * 3 + i % 3] += dy[i];
        for (int v = 0; v < 6; v++) {
            width[v * 3 + i % 3] += (double)in[0]->x[i / 3 * 3 + v] * dy[i];
        }
        last[to] = dy[i];
        once[to] = i / 3 == 2 || i / 3 == 4 ? once[to] : dy[i];
        assigned[to] = (double)dy[i] - in[1]->square[to];
        first[i] = dy[i];
        value[to] += in[1]->x[to];
        mean[to] += (double)dy[i] / uses[ids[i / 3]];
    }
    onehot = in[0];
    table = in[1];
    look_closer = look_at_table;
    compare_gradient(embedding_of, in, in[1], "dtable");
}
#endif

/* ---- layer norm ------------------------------------------------------------------------------------------------------ */

#if defined COURSE_norm
static Tensor *norm_of(Tensor **in) { return layer_norm(in[0], in[1], in[2]); }

static const Tensor *norm_x, *norm_gamma;   /* that are checked */

/* Whether dx is right where gamma and beta are 1. */
static bool norm_is_right_without_gamma(void)
{
    Tensor *in[] = { numbers(norm_x->rows, norm_x->n), numbers(1, norm_x->n), numbers(1, norm_x->n) };
    double want[MOST], got[MOST];
    for (int i = 0; i < norm_x->n; i++) {
        in[1]->x[i] = in[2]->x[i] = 1;
    }
    run_rule(norm_of, in);
    numerical(norm_of, in, in[0], want);
    for (int i = 0; i < count(in[0]); i++) {
        got[i] = (double)in[0]->grad[i] - in[0]->square[i];
    }
    return all_equal(count(in[0]), got, want);
}

/* dx - r g should be a number of the row, and another one times c. */
static void look_at_norm(void)
{
    const int n = norm_x->n;
    for (int row = 0; row < norm_x->rows; row++) {
        double c[8], g[8], rest[8], mean = 0, variance = 0, sum_g = 0, sum_gc = 0, constant = 0, slope = 0, size = 0;
        for (int i = 0; i < n; i++) {
            mean += (double)norm_x->x[row * n + i] / n;
        }
        for (int i = 0; i < n; i++) {
            c[i] = norm_x->x[row * n + i] - mean;
            g[i] = (double)dy[row * n + i] * norm_gamma->x[i];
            variance += c[i] * c[i] / n;
            sum_g += g[i];
            sum_gc += g[i] * c[i];
        }
        double R = 1 / sqrt(variance + 1e-5);
        for (int i = 0; i < n; i++) {
            rest[i] = (double)norm_x->grad[row * n + i] - norm_x->square[row * n + i] - R * g[i];
            size += fabs(R * g[i]) / n;
            constant += rest[i] / n;
            slope += rest[i] * c[i] / (n * variance);
        }
        for (int i = 0; i < n; i++) {
            wrong_if(row > 0 && !(fabs(rest[i] + R * sum_g / n + R * R * R / n * sum_gc * c[i]) < 3e-3 * size), "row_start",
                     "始めの行は正しい：行の始まり（y->gradとdxは row * n、tは row * (n + 2)）か、行ごとに0から始める和を確かめる。\n",
                     "The rows before are right: see where a row begins (dy and dx at row * n, t at row * (n + 2)), and the\n"
                     "sums that begin at 0 in each row.\n");
            bool has_form = fabs(rest[i] - constant - slope * c[i]) < 3e-3 * size;
            wrong_if(!has_form && norm_is_right_without_gamma(), "gamma",
                     "gammaとbetaがすべて1なら正しい：g[i] = dy[i] gamma[i] で、gammaは y->in[1]、添字はi。\n",
                     "Where gamma and beta are 1 it is right: g[i] = dy[i] gamma[i], and gamma is y->in[1],\n"
                     "with the index i.\n");
            wrong_if(!has_form, "form",
                     "dx - r g は、行にひとつの数と、行にもうひとつの数にcをかけたものの和になるはずだが、なっていない：項 r g と、\n"
                     "gの和や g c の和を行でひとつだけ計算しているかを確かめる。\n",
                     "dx - r g should be one number of the row, plus another one times c, but is not: see the term r g, and\n"
                     "that the sums of g and of g c are one number for each row.\n");
        }
        wrong_if(fabs(constant + R * sum_g / n) > 3e-3 * size, "mean_term",
                 "平均の項 - r (gの平均) が違う（g = dy gamma）。\n",
                 "The term of the mean is wrong, - r (mean of g), where g = dy gamma.\n");
        wrong_if(fabs(slope + R * R * R / n * sum_gc) > 3e-3 * size, "variance_term",
                 "分散の項 - r^3 / n sum(g c) c が違う。\n", "The term of the variance is wrong, - r^3 / n sum(g c) c.\n");
    }
}

static void look_at_beta(void)
{
    course_say("dbeta[i] は、すべての行についての dy[row][i] の和である。\n", "dbeta[i] is the sum of dy[row][i] over all rows.\n");
    course_wrong("beta_formula");
}

static void look_at_gamma(void)
{
    course_say("dgamma[i] は、すべての行についての dy[row][i] c[row][i] r[row] の和である。\n",
               "dgamma[i] is the sum of dy[row][i] c[row][i] r[row] over all rows.\n");
    course_wrong("gamma_formula");
}

static void check_norm(void)
{
    enum { ROWS = 3, N = 5 };
    Tensor *in[] = { numbers(ROWS, N), numbers(1, N), numbers(1, N) };
    choose_dy();
    crash_japanese = "行は0から y->rows - 1 まで、列は0から n - 1 まで。\n";
    crash_english = "Rows go from 0 to y->rows - 1, columns from 0 to n - 1.\n";
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
    look_closer = look_at_beta;
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
    double *place = mistake_new("place_of_normal",
        "dgammaが、t（行ごとに n + 2 個）を読んでいる：正規化した値 c r は、y->kept の始めにある。\n",
        "dgamma reads t (n + 2 numbers for each row): the normalized values c r are the first of y->kept.\n");
    double flat[ROWS * (N + 2)];
    for (int i = 0; i < ROWS * (N + 2); i++) {
        int row = i / (N + 2), j = i % (N + 2);
        flat[i] = j < N ? c[row][j] : j == N ? 0 : r[row];
    }
    for (int i = 0; i < ROWS * N; i++) {
        double d = dy[i] * c[i / N][i % N];
        place[i % N] += dy[i] * flat[i];
        gamma[i % N] += g[i / N][i % N] * c[i / N][i % N] * r[i / N];
        no_normal[i % N] += dy[i];
        no_r[i % N] += d;
        last[i % N] = d * r[i / N];
    }
    look_closer = look_at_gamma;
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
    double *rows_of_t = mistake_new("place_of_t",
        "tの行の始まりが違う：行ごとに n + 2 個（tのn個、rest、rstd）ある。\n",
        "Rows of t begin elsewhere: each row has n + 2 numbers (n of t, rest, rstd).\n");
    double *from_kept = mistake_new("begin_of_t", "tの始まりが違う：tは、正規化した値のあと、y->kept + count(y) から始まる。\n",
                                    "t begins elsewhere: it is after the normalized values, at y->kept + count(y).\n");
    double *added_up = mistake_new("sums_of_rows_before",
        "前の行の和に加えている：gの和も g t の和も、行ごとに0から始める。\n",
        "The sums of the rows before are in it: the sums of g and of g t begin at 0 in each row.\n");
    double *r_twice = mistake_new("normal_for_c",
        "分散の項で、cでなく c r（正規化した値）を使っている：rが二つ多い。\n",
        "The term of the variance has the normalized c r in place of c: two factors r too many.\n");
    double *root = mistake_new("root_of_r", "rの平方根を使っている：rは 1 / sqrt(...) で、rstdそのものである。\n",
                               "It has the root of r: r is 1 / sqrt(...) already, rstd itself.\n");
    double *square = mistake_new("square_of_r", "rの代わりに、rの二乗を使っている：rはrstdである。\n",
                                 "It has the square of r for r: r is rstd.\n");
    double *short_sums = mistake_new("last_item", "行の最後の数を抜かしている：和は、n個についてとる。\n",
                                     "The last number of a row is left out: the sums have n terms.\n");
    double *short_row = mistake_new("last_item", "行の最後の数を抜かしている：iは n - 1 まで。\n",
                                    "The last number of a row is left out: i goes to n - 1.\n");
    double all_g = 0, all_gc = 0, kept[ROWS * (2 * N + 2)];
    for (int i = 0; i < ROWS * N; i++) {
        kept[i] = c[i / N][i % N] * r[i / N];
    }
    memcpy(kept + ROWS * N, flat, sizeof flat);
    for (int i = 0; i < ROWS * N; i++) {
        int row = i / N, j = i % N;
        all_g += j == 0 ? sum_g[row] : 0;
        all_gc += j == 0 ? sum_gc[row] : 0;
        for (int k = 0; k < 2; k++) {
            const double *t = k == 0 ? flat + row * N : kept + row * (N + 2);
            double rest = t[N], rstd = t[N + 1], sum_gt = 0;
            for (int l = 0; l < N; l++) {
                sum_gt += g[row][l] * t[l];
            }
            double slope = rstd * rstd * rstd / N * (sum_gt - rest * sum_g[row]);
            (k == 0 ? rows_of_t : from_kept)[i] = rstd * (g[row][j] - sum_g[row] / N) - slope * (t[j] - rest);
        }
        double R = r[row], C = c[row][j], a = R * g[row][j], b = R * sum_g[row] / N, d = R * R * R / N * sum_gc[row] * C;
        double plain_g = 0, plain_gc = 0;
        for (int k = 0; k < N; k++) {
            plain_g += dy[row * N + k];
            plain_gc += dy[row * N + k] * c[row][k];
        }
        added_up[i] = a - R * all_g / N - R * R * R / N * all_gc * C;
        r_twice[i] = a - b - d * R * R;
        root[i] = sqrt(R) * (g[row][j] - sum_g[row] / N) - R * sqrt(R) / N * sum_gc[row] * C;
        square[i] = R * R * (g[row][j] - sum_g[row] / N) - pow(R, 6) / N * sum_gc[row] * C;
        double less_g = sum_g[row] - g[row][N - 1], less_gc = sum_gc[row] - g[row][N - 1] * c[row][N - 1];
        short_sums[i] = a - R * less_g / N - R * R * R / N * less_gc * C;
        short_row[i] = j == N - 1 ? 0 : short_sums[i];
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
    nothing_japanese = "書いてあるなら：t[n] が rest、t[n + 1] が rstd である。\n";
    nothing_english = "If it is written: t[n] is rest, t[n + 1] is rstd.\n";
    norm_x = in[0];
    norm_gamma = in[1];
    look_closer = look_at_norm;
    compare_gradient(norm_of, in, in[0], "dx");
}
#endif

/* ---- the tape -------------------------------------------------------------------------------------------------------- */

#if defined COURSE_tape
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
    for (int i = 0; i < nodes; i++) {
        if (node[i] == y->x) {
            for (int k = 0; k < calls; k++) {
                wrong_if(call[k] == i, "again",
                         "同じテンソルで、規則を二回呼んでいる：それぞれ一回だけ、y->rule(y) とする（on_tapeを減らしているか？）。\n",
                         "A rule gets a tensor that a rule had before: call y->rule(y) once each, with the tensor itself.\n"
                         "Does on_tape become smaller?\n");
            }
            for (int k = 0; k < course_frees && k < 16; k++) {
                freed_early = freed_early || course_freed[k] == y->x;
            }
            seed_gradient = i == nodes - 1 ? y->grad[0] : seed_gradient;
            call[calls++] = i;
            static double sum_before;
            wrong_if(calls == 1 && i == nodes - 1 && gradients_sum() != y->grad[0] * (nodes + 0.5), "others_start",
                     "損失のほかの勾配も、始めに変えている：1にするのは、損失の勾配だけである。\n",
                     "Other gradients than that of the loss are changed at the start: that of the loss alone becomes 1.\n");
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
    Tensor *h = gelu(in[0]), *closed = relu(add(h, h));
    return squared_error(add(add(h, closed), in[1]), in[2]);
}

static void check_tape(void)
{
    Tensor *in[] = { numbers(1, 3), numbers(1, 3), numbers(1, 3) };
    in[0]->x[0] = -0.8f;                    /* so the first gradient of add(h, h) is 0 */
    dy[0] = 1;
    crash_japanese = "ないテンソルの規則を呼んだか（添字は0から on_tape - 1 まで）、解放したあとで使ったのではないか？\n";
    crash_english = "Was a rule called of a tensor that is not there (they are 0 to on_tape - 1), or after it was freed?\n";
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
    bool descending = calls == nodes;
    for (int i = 1; i < calls; i++) {
        descending = descending && call[i] == call[i - 1] - 1;
    }
    if (!descending) {
        course_say("呼ばれた規則（テープの添字）：", "rules that were called (indices of the tape):");
        for (int i = 0; i < calls; i++) {
            printf(" %d", call[i]);
        }
        course_say("。正しくは、%d から 0 まで。\n", ". It should be %d to 0.\n", nodes - 1);
    }
    wrong_if(call[0] == 0 && nodes > 1, "order",
             "古いものから始めている。yを読むものは、みなyより新しい：新しいものから始めて、yの勾配が完成してから、yの規則を呼ぶ。\n",
             "It begins with the oldest. All that read y are newer than y: begin with the newest, so that the gradient of y\n"
             "is complete when its rule is called.\n");
    wrong_if(call[0] != nodes - 1, "skips_loss", "いちばん新しいもの（損失）を抜かしている：最後の添字は on_tape - 1。\n",
             "It leaves out the newest, the loss: its index is on_tape - 1.\n");
    wrong_if(seed_gradient != 1, "seed", "始めに、損失の勾配（損失の、損失自身による微分）を1にする。\n",
             "First the gradient of the loss must be 1: the derivative of the loss by itself.\n");
    bool only_zero = calls < nodes;
    for (int i = 0; i < nodes; i++) {
        bool called = false;
        for (int k = 0; k < calls; k++) {
            called = called || call[k] == i;
        }
        only_zero = only_zero && called == (node[i][i < nodes - 1 ? 3 : 1] != 0);
    }
    wrong_if(only_zero, "skips_zero", "grad[0] が0のテンソルを抜かしている：0でない勾配も、あとに続く。規則は、条件なしで呼ぶ。\n",
             "It leaves out tensors whose grad[0] is 0, but other gradients follow it: call each rule, without a condition.\n");
    wrong_if(calls == 1 && nodes > 1, "loss_only",
             "損失の規則だけを呼んでいる：テープのすべての規則を、新しいものから順に呼ぶ。\n",
             "Only the rule of the loss is called: all rules of the tape are called, from the newest on.\n");
    wrong_if(call[calls - 1] != 0 && call[calls - 1] == nodes - calls, "skips_first", "いちばん古いもの（添字0）を抜かしている。\n",
             "It leaves out the oldest, index 0.\n");
    wrong_if(!descending, "each_once", "それぞれの規則を、新しいものから順に、一回ずつ呼ぶ。\n",
             "Each rule must be called once, from the newest to the oldest.\n");
    wrong_if(on_tape != 0, "not_emptied", "テープが空になっていない：次のステップは on_tape = 0 から始まる。\n",
             "The tape is not empty: the next step begins with on_tape = 0.\n");
    for (int k = 0; k < course_frees && k < 16; k++) {
        bool is_array = false;
        for (int i = 0; i < nodes; i++) {
            is_array = is_array || course_freed[k] == node[i];
        }
        wrong_if(!is_array, "wrong_free", "y->x でないものを解放（free）している。x、grad、keptはひとつの配列で、Tensorそのものは\n"
                 "tape[] の中にある。\n",
                 "free() gets something else than y->x. x, grad and kept are one array, and the Tensor itself stands in\n"
                 "tape[].\n");
    }
    wrong_if(course_frees != nodes, "not_freed", "テープのテンソルの配列（y->x）を、一回ずつ解放（free）していない。\n",
             "The arrays of the tensors of the tape (y->x) are not freed once each.\n");
    compare_gradient(tape_of, in, in[0], "da");
    compare_gradient(tape_of, in, in[1], "db");
}
#endif

/* ---- Adam ------------------------------------------------------------------------------------------------------------ */

#if defined COURSE_adam
typedef enum {
    RIGHT, SAME_BETA, NOT_SQUARED, ADDED, NO_C1, NO_C2, NO_C1_C2, OLD_STEP, OLD_C1, BETA2_IN_C1, UPHILL, NO_ROOT, NO_DECAY,
    DECAY_ALL, DECAY_WITHOUT_LR, COUPLED, NO_LR, NO_AVERAGE, EXCHANGED, OF_AVERAGE, C2_OUTSIDE, DECAY_AFTER,
    STEPS_EACH, MOVE_FIRST, GRADIENT, DECAY_OF_VECTORS, ROOT_OF_C2, BETA2_999, POWER,
    OLD_AVERAGE
} AdamMistake;

#define BETA2 0.75                          /* not near 1, so that factors differ */
static int adam_steps = 2;                  /* that were taken before */
static double adam_decay = 0.5;

/* What Adam makes of one number: its average, its square and its change. */
static void adam_reference(AdamMistake kind, double x, double g, double average, double square, bool matrix, double result[3])
{
    const double lr = 0.5, beta2 = kind == BETA2_999 ? 0.999 : BETA2, decay = adam_decay;
    int step = adam_steps + (kind == OLD_STEP ? 0 : kind == STEPS_EACH && !matrix ? 2 : 1);
    double old_average = average, old_square = square;
    g += kind == COUPLED && matrix ? decay * x : 0;
    double beta1 = kind == SAME_BETA ? beta2 : 0.9;
    beta1 = kind == EXCHANGED ? 1 - beta1 : beta1;
    average = kind == NO_AVERAGE ? old_average : kind == ADDED ? average + g : beta1 * average + (1 - beta1) * g;
    double squared = kind == NOT_SQUARED ? g : kind == OF_AVERAGE ? average * average : g * g;
    square = beta2 * square + (1 - beta2) * squared;
    double c1 = 1 - pow(kind == BETA2_IN_C1 ? beta2 : 0.9, kind == OLD_C1 ? adam_steps : step), c2 = 1 - pow(beta2, step);
    c1 = kind == POWER ? 1 - 0.9 : c1;
    c2 = kind == POWER ? 1 - beta2 : c2;
    c1 = kind == NO_C1 || kind == NO_C1_C2 ? 1 : c1;
    c2 = kind == NO_C2 || kind == NO_C1_C2 ? 1 : c2;
    double moved = kind == MOVE_FIRST || kind == OLD_AVERAGE ? old_average : kind == GRADIENT ? g : average;
    matrix = kind == DECAY_OF_VECTORS ? !matrix : matrix;
    double shrink = kind == NO_DECAY || kind == COUPLED || (!matrix && kind != DECAY_ALL) ? 0
                    : kind == DECAY_WITHOUT_LR ? decay : lr * decay;
    double root_of = (kind == MOVE_FIRST ? old_square : square) / c2;
    double divisor = kind == NO_ROOT ? root_of
        : kind == ROOT_OF_C2 ? square / sqrt(c2) : kind == C2_OUTSIDE ? sqrt(square) / c2 : sqrt(root_of);
    double move = (kind == NO_LR ? 1 : lr) * (moved / c1) / divisor;
    result[0] = average;
    result[1] = square;
    result[2] = (kind == UPHILL ? move : -move) - shrink * (kind == DECAY_AFTER ? x - move : x);
}

/* Whether adam() moves x correctly, with this decay after so many steps. */
static bool adam_is_right(int steps_before, double decay)
{
    static Parameters q;
    Tensor *t = parameter_new(&q, 2, 3);
    double x[6], want[3];
    bool right = true;
    for (int i = 0; i < 6; i++) {
        t->average[i] = (float)next_number();
        t->square[i] = (float)fabs(next_number());
        x[i] = t->x[i] = (float)next_number();
        t->grad[i] = (float)next_number();
    }
    Tensor before = *t, copy = *numbers(2, 3);
    memcpy(copy.average, t->average, 6 * sizeof(float));
    memcpy(copy.square, t->square, 6 * sizeof(float));
    memcpy(copy.grad, t->grad, 6 * sizeof(float));
    q.steps = adam_steps = steps_before;
    adam_decay = decay;
    adam(&q, 0.5, BETA2, decay);
    for (int i = 0; i < 6; i++) {
        adam_reference(RIGHT, x[i], copy.grad[i], copy.average[i], copy.square[i], true, want);
        right = right && fabs(before.x[i] - x[i] - want[2]) < 1e-3;
    }
    return right;
}

static int adam_number;                     /* what is compared: average, square, x */
static bool vectors_are_right;

static void look_at_adam(void)
{
    wrong_if(adam_number == 0, "average", "average = 0.9 average + (1 - 0.9) g を確かめる。\n",
             "See average = 0.9 average + (1 - 0.9) g.\n");
    wrong_if(adam_number == 1, "square", "square = beta2 square + (1 - beta2) g g を確かめる（gは、0に戻す前の勾配）。\n",
             "See square = beta2 square + (1 - beta2) g g, where g is the gradient from before it is cleared.\n");
    wrong_if(vectors_are_right, "decay_term", "バイアスなどは正しいが、行列が違う：x (1 - lr decay) を確かめる。\n",
             "Vectors are right, matrices are wrong: see x (1 - lr decay).\n");
    wrong_if(adam_is_right(2, 0), "decay_term", "decayが0なら正しい：x (1 - lr decay) を確かめる。\n",
             "With a decay of 0 it is right: see x (1 - lr decay).\n");
    wrong_if(adam_is_right(100000, 0.5), "correction", "c1とc2が1に近ければ正しい：c1、c2、p->steps を確かめる。\n",
             "Where c1 and c2 are near 1 it is right: see c1, c2 and p->steps.\n");
}

/* Looks at a square as small as 1e-16, whose root is as small as what is added to it. */
static void check_epsilon(void)
{
    static Parameters q;
    Tensor *t = parameter_new(&q, 1, 1);
    q.steps = 100000;
    t->average[0] = 1e-8f;
    t->square[0] = 1e-16f;
    adam(&q, 0.5, BETA2, 0);
    wrong_if(!(fabs(t->x[0] + 0.5 * 0.9e-8 / (sqrt(BETA2) * 1e-8 + 1e-8)) < 1e-3), "epsilon",
             "squareが小さいとき（1e-16）に違う：1e-8は、平方根 sqrt(square / c2) をとったあとに加える。\n",
             "It is wrong where square is small (1e-16): 1e-8 is added to the root, sqrt(square / c2).\n");
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
        { BETA2_999, 1, "other_beta2", "beta2でなく、0.999を使っている。\n", "It uses 0.999, not beta2.\n" },
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
        { NO_C1_C2, 2, "without_c1_c2", "c1でもc2でも割っていない（始めの0の補正）：average / c1 と square / c2。\n",
          "Neither c1 nor c2 is there, which correct for the zeros of the start: average / c1 and square / c2.\n" },
        { BETA2_IN_C1, 2, "beta_in_c1", "c1に、0.9でなくbeta2を使っている：c1 = 1 - 0.9^step。\n",
          "c1 is made of beta2, not of 0.9: c1 = 1 - 0.9^step.\n" },
        { MOVE_FIRST, 2, "moved_first", "xを、前のaverageとsquareで動かしている：先に、この二つを新しくする。\n",
          "x moves by the old average and square: update these first.\n" },
        { OLD_AVERAGE, 2, "moved_first", "xを、前のaverageで動かしている：先に、averageを新しくする。\n",
          "x moves by the old average: update it first.\n" },
        { GRADIENT, 2, "gradient", "averageでなく、gで動かしている。\n", "x moves by g, not by average.\n" },
        { OLD_STEP, 2, "old_step", "補正のステップの数がひとつ少ない：始めに p->steps を1増やす。\n",
          "The correction counts one step less: add 1 to p->steps first.\n" },
        { OLD_C1, 2, "old_step", "c1のステップの数がひとつ少ない：始めに p->steps を1増やす。\n",
          "c1 counts one step less: add 1 to p->steps first.\n" },
        { UPHILL, 2, "uphill", "損失が増えるほうへ動く：引く。\n", "It moves to a larger loss: subtract.\n" },
        { ROOT_OF_C2, 2, "without_root", "squareでなく、その平方根をとる：根号は、c2だけでなくsquareにもかかる。\n",
          "The root of square is missing: the root is of square, too, not of c2 alone.\n" },
        { POWER, 2, "power", "power(y, x, n) は y x^n である：0.9^step は power(1, 0.9, p->steps)。\n",
          "power(y, x, n) is y x^n: 0.9^step is power(1, 0.9, p->steps).\n" },
        { NO_ROOT, 2, "without_root", "squareでなく、その平方根で割る。\n", "Divide by the root of square.\n" },
        { NO_DECAY, 2, "without_decay", "行列の重みが縮まない：x (1 - lr decay)。\n",
          "Weights of matrices do not shrink: x (1 - lr decay).\n" },
        { DECAY_ALL, 2, "decay_of_vectors", "行が1のもの（バイアス、gamma、beta）は縮めない。\n",
          "Parameters of one row (bias, gamma, beta) do not shrink.\n" },
        { DECAY_OF_VECTORS, 2, "decay_of_vectors", "行列でなく、ベクトルを縮めている：縮めるのは t->rows > 1 のもの。\n",
          "Vectors shrink, not matrices: only parameters with t->rows > 1 shrink.\n" },
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
    adam(&q, 0.5, BETA2, 0.5);
    for (int i = 0; i < 9; i++) {
        int k = i / 6, j = i % 6;
        got[0][i] = t[k]->average[j];
        got[1][i] = t[k]->square[j];
        got[2][i] = t[k]->x[j] - old[k][2][j];
    }
    bool changed[9], first_items = true, first_rows = true;
    for (int i = 0; i < 9; i++) {
        changed[i] = got[0][i] != old[i / 6][0][i % 6];
        first_items = first_items && changed[i] == (i % 6 == 0);
        first_rows = first_rows && changed[i] == (i < 3 || i >= 6);
    }
    wrong_if(first_items, "first_item", "それぞれのテンソルの、始めの数だけが変わる：t->average[i] のように、添字が要る。\n",
             "Only the first number of each tensor changes: it needs an index, as in t->average[i].\n");
    wrong_if(first_rows, "first_row", "それぞれのテンソルの、始めの行だけが変わる：数の個数は、t->n でなく count(t)。\n",
             "Only the first row of each tensor changes: the number of its items is count(t), not t->n.\n");
    for (int k = 0; k < 2; k++) {
        bool stays = true, other_changes = false;
        for (int i = 0; i < 9; i++) {
            stays = stays && (i / 6 != k || !changed[i]);
            other_changes = other_changes || (i / 6 != k && changed[i]);
        }
        wrong_if(stays && other_changes, "tensor_left_out", "ひとつのテンソルが、まったく変わらない：ループは p->item[0] から p->item[p->n - 1] まで。\n",
                 "One of the tensors does not change at all: the loop goes from p->item[0] to p->item[p->n - 1].\n");
    }
    look_closer = look_at_adam;
    infinite_japanese = "c1とc2は0と1の間にある：1 - 0.9^step は、1 - power(1, 0.9, p->steps) である。\n";
    infinite_english = "c1 and c2 are between 0 and 1: 1 - 0.9^step is 1 - power(1, 0.9, p->steps).\n";
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
                adam_reference(m < 0 ? RIGHT : usual[m].kind, old[k][2][j], g[k][j], old[k][0][j], old[k][1][j], k == 0,
                               result);
                to[i] = result[of];
            }
        }
        adam_number = of;
        vectors_are_right = true;
        for (int i = 6; i < 9; i++) {
            vectors_are_right = vectors_are_right && fabs(got[of][i] - want[i]) < 1e-3;
        }
        bool stays = of == 1;
        for (int i = 0; i < 9; i++) {
            stays = stays && got[1][i] == old[i / 6][1][i % 6];
        }
        wrong_if(stays, "no_square", "squareが更新されていない。\n", "square stays as it was.\n");
        judge(what[of], 9, 3, got[of], NULL, want);
    }
    check_epsilon();
    wrong_if(q.steps != 3, "steps", "p->steps は、呼ばれるたびに1増える。\n", "p->steps must grow by 1 with each call.\n");
    for (int i = 0; i < 9; i++) {
        wrong_if(t[i / 6]->grad[i % 6] != 0, "not_cleared",
                 "勾配が0に戻っていない：次のステップの規則が、古い勾配に加えてしまう。\n",
                 "The gradients are not cleared: the rules of the next step would add to old ones.\n");
    }
}
#endif

/* ---- initial weights ------------------------------------------------------------------------------------------------- */

#if defined COURSE_weights
static void drawn(double *to, int n, double size, bool normal)
{
    Tensor *t = numbers(1, n);
    fill(t, size, normal);
    for (int i = 0; i < n; i++) {
        to[i] = t->x[i];
    }
}

/* Looks at layers of some sizes: deviation > 0 clears all of the bias and nothing else. */
static void check_bias(void)
{
    static Parameters q;
    const int size[][2] = { { 3, 20 }, { 20, 3 }, { 5, 5 } };           /* in, out */
    for (int k = 0; k < 3; k++) {
        course_marks = true;
        Linear l = linear_new(&q, size[k][0], size[k][1], 0.02);
        course_marks = false;
        for (int i = 0; i < count(l.bias); i++) {
            wrong_if(l.bias->x[i] != 0, "bias_not_zero",
                     "deviation > 0 のとき、バイアスの out 個の数は、すべて0である（memsetの三つめの引数は、バイトの数）。\n",
                     "If deviation > 0, all `out` numbers of the bias are 0 (the third argument of memset counts bytes).\n");
        }
        for (int i = 0; i < 3 * (count(l.bias) + count(l.weight)); i++) {
            float rest = i < 3 * count(l.bias) ? l.bias->grad[i] : l.weight->grad[i - 3 * count(l.bias)];
            wrong_if(rest != MARK, "too_long",
                     "値の外の数（gradなど）が変わっている：バイアスは out 個で、out * sizeof(float) バイトである。\n",
                     "Numbers outside the values (of grad) change: the bias has `out` numbers, out * sizeof(float) bytes.\n");
        }
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
    wrong_if(end == 40 + 2 * (N / 4) + 1, "always_replaced",
             "deviationが0でも、正規分布の数を引いている：if (deviation > 0) が要る。\n",
             "Normal numbers are drawn though deviation is 0: it needs if (deviation > 0).\n");
    if (end != 40) {
        mistake_new("integer_division", "幅が0である：1 / in は、整数の割り算で0になる。1 / sqrt((double)in)。\n",
                    "The width is 0: 1 / in is a division of integers. 1 / sqrt((double)in).\n");
    }
    double *after = mistake_new("bias_first", "バイアスを先に埋めている：重みが先である。\n",
                                "The bias is filled first: the weight comes first.\n");
    counter = 40;
    drawn(skipped, OUT, 1. / 3, false);
    drawn(after, N, 1. / 3, false);
    judge("weight", N, IN, l.weight->x, NULL, weight);
    double *normal_bias = mistake_new("normal", "一様な数でなく、正規分布の数である（fillの三つめの引数）。\n",
                                      "The numbers are normal, not uniform (third argument of fill).\n");
    counter = 40;
    drawn(skipped, N, 1. / 3, false);
    drawn(normal_bias, OUT, 1. / 3, true);
    double *of_out = mistake_new("bias_by_out", "バイアスの幅も、outでなくinで決まる。\n",
                                 "The width of the bias depends on in, too, not on out.\n");
    counter = 40;
    drawn(skipped, N, 1. / 3, false);
    drawn(of_out, OUT, 1 / sqrt(OUT), false);
    judge("bias", OUT, OUT, l.bias->x, NULL, bias);
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
    judge("weight, deviation 0.02", N, IN, l.weight->x, NULL, weight);
    check_bias();
    wrong_if(end != 40 + 2 * (N / 4) + 1, "drawn", "乱数の数が違う：一様な重み、バイアス、正規分布の重みを、一回ずつ引く。\n",
             "The number of random words is wrong: uniform weights, the bias, and normal weights are drawn once each.\n");
}
#endif

/* ---- softmax with cross-entropy -------------------------------------------------------------------------------------- */

#if defined COURSE_loss
static double loss_of_two(float first, float second)
{
    static const int target[] = { 0 };
    Tensor *x = numbers(1, 2);
    x->x[0] = first;
    x->x[1] = second;
    double loss = cross_entropy(x, target)->x[0];
    clear_tape();
    return loss;
}

static void look_at_loss(void)
{
    double equal = loss_of_two(0, 0), shifted = loss_of_two(1, 1), other = loss_of_two(0, 1);
    course_say("logitが {0, 0}、目標が0のとき、損失は ln 2 = 0.6931 のはずで、あなたの値は %.4g。\n",
               "With the logits {0, 0} and the target 0, the loss should be ln 2 = 0.6931; yours is %.4g.\n", equal);
    wrong_if(fabs(shifted - equal) > 1e-4, "shifted", "すべてのlogitに1を足すと、損失が変わる（変わらないはず）：largestを引くところを確かめる。\n",
             "If 1 is added to all logits the loss changes, but it should not: see where largest is subtracted.\n");
    wrong_if(!(other > equal), "other_logits", "ほかのlogitを大きくしても、損失が増えない：ln sum e^x を確かめる。\n",
             "If another logit grows the loss does not: see ln sum e^x.\n");
    wrong_if(fabs(equal - log(2)) < 1e-3 && fabs(other - log(1 + exp(1))) < 1e-3, "rows",
             "一行なら正しい：行の始まり（x->x + row * x->n）、targets[row]、行の平均を確かめる。\n",
             "With one row it is right: see where a row begins (x->x + row * x->n), targets[row], and the mean of the rows.\n");
}

static const Tensor *loss_y;                /* that is checked, of rows of 5 */

static void look_at_dx(void)
{
    for (int row = 0; row < 3; row++) {
        double total = 0;
        for (int i = 0; i < 5; i++) {
            total += loss_y->kept[row * 5 + i];
        }
        wrong_if(fabs(total) > 1e-4, "row_sum",
                 "dxの行の和は0のはずである（pの和は1で、1を一回引くから）が、そうなっていない：pと、引く1の大きさを確かめる。\n",
                 "Each row of dx should have the sum 0, since p has the sum 1 and 1 is subtracted once. Yours has not: see p,\n"
                 "and the size of what is subtracted.\n");
    }
    wrong_if(true, "place_of_target", "行の和は正しく0である：1を引く場所 targets[row] を確かめる。\n",
             "Each row has the sum 0, as it should: see where 1 is subtracted, at targets[row].\n");
}

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
    crash_japanese = "行は0から x->rows - 1 まで、列は0から x->n - 1 まで。\n";
    crash_english = "Rows go from 0 to x->rows - 1, columns from 0 to x->n - 1.\n";
    Tensor *y = cross_entropy(x, target);
    *mistake_new("sum_of_rows", "行の平均でなく、和である：rowsで割る。\n", "It is the sum of the rows: divide by rows.\n") = want * ROWS;
    *mistake_new("no_log", "確率の対数がない：-ln p。\n", "The logarithm of the probability is missing: -ln p.\n") = value;
    *mistake_new("no_log_sum", "logitだけを使っている：ln sum e^x がない（正規化）。\n",
                 "It uses the logit alone: ln sum e^x, which normalizes, is missing.\n") = plain;
    *mistake_new("log2", "自然対数でなく、2の対数である。\n", "It is the logarithm to base 2, not the natural one.\n") = ln2;
    *mistake_new("last_row", "最後の行だけである：行の和をとる（+=）。\n",
                 "It is the last row alone: sum the rows (+=).\n") = -log(p[ROWS - 1][target[ROWS - 1]]) / ROWS;
    *mistake_new("row_left_out", "最後の行を抜かしている：rowは x->rows - 1 まで。\n",
                 "The last row is left out: row goes to x->rows - 1.\n") = want + log(p[ROWS - 1][target[ROWS - 1]]) / ROWS;
    *mistake_new("mean_over_n", "行の数（x->rows）でなく、列の数で割っている。\n",
                 "It is divided by the number of columns, not of rows (x->rows).\n") = want * ROWS / N;
    *mistake_new("mean_of_numbers", "行の数（x->rows）でなく、すべての数の個数で割っている。\n",
                 "It is divided by the number of all items, not of rows (x->rows).\n") = want / N;
    *mistake_new("same_target", "どの行でも targets[0] を見ている：targets[row]。\n",
                 "It looks at targets[0] in each row: targets[row].\n") =
        -(log(p[0][target[0]]) + log(p[1][target[0]]) + log(p[2][target[0]])) / ROWS;
    double *row_start = mistake_new("row_start", "行の始まりが違う：行rowは x->x + row * x->n から始まる。\n",
                                    "Rows begin elsewhere: row begins at x->x + row * x->n.\n");
    for (int row = 0; row < ROWS; row++) {
        double total = 0;
        for (int i = 0; i < N; i++) {
            total += exp(x->x[row * ROWS + i]);
        }
        *row_start += (log(total) - x->x[row * ROWS + target[row]]) / ROWS;
    }
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
    look_closer = look_at_loss;
    judge("loss", 1, 1, y->x, NULL, (double[]){ want });
    loss_y = y;
    look_closer = look_at_dx;
    wrong_if(memcmp(x->grad, x->square, (size_t)count(x) * sizeof(float)) != 0, "added_already",
             "x->grad に書いている：loss_rule() が、あとで y->kept[row * x->n + i] を読んで、そこに加える。dxは y->kept に書く。\n",
             "It writes to x->grad: loss_rule() adds to it later what it reads in y->kept[row * x->n + i]. Write dx there.\n");
    nothing_japanese = "書いてあるなら：1 / x->rows は、整数の割り算で0になる。1 / (float)x->rows。\n";
    nothing_english = "If it is written: 1 / x->rows is a division of integers, which is 0: 1 / (float)x->rows.\n";
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
    double *no_largest = mistake_new("largest",
        "確率が大きすぎる：和は e^(x - largest) の和である。logitからも、largestを引く。\n",
        "Probabilities are too large: the sum is that of e^(x - largest). Subtract largest from the logit, too.\n");
    double *first_row = mistake_new("first_row", "どの行の勾配も、始めの行に書いている：y->kept[row * x->n + i]。\n",
                                    "The gradients of all rows go to the first one: y->kept[row * x->n + i].\n");
    double *mean_of_all = mistake_new("mean_of_numbers", "行の数（x->rows）でなく、すべての数の個数で割っている。\n",
                                      "It is divided by the number of all items, not of rows (x->rows).\n");
    double *from_all = mistake_new("one_from_all", "1を、行のすべての数から引いている：目標のところだけから引く。\n",
                                   "1 is subtracted from all numbers of a row: subtract it at the target alone.\n");
    double *at_row = mistake_new("at_row", "1を、目標 targets[row] でなく、rowのところから引いている。\n",
                                 "1 is subtracted at row, not at the target, targets[row].\n");
    for (int i = 0; i < ROWS * N; i++) {
        int row = i / N;
        at_row[i] = (p[row][i % N] - (row == i % N)) / ROWS;
        double q = p[row][i % N], one = target[row] == i % N, largest = 0;
        for (int k = 0; k < N; k++) {
            largest = fmax(largest, p[row][k]);
        }
        double largest_x = x->x[row * N];
        for (int k = 0; k < N; k++) {
            largest_x = fmax(largest_x, x->x[row * N + k]);
        }
        gradient[i] = (q - one) / ROWS;
        no_largest[i] = (q * exp(largest_x) - one) / ROWS;
        first_row[i] = row > 0 ? 0 : (p[ROWS - 1][i] - (target[ROWS - 1] == i)) / ROWS;
        mean_of_all[i] = (q - one) / (ROWS * N);
        from_all[i] = (q - 1) / ROWS;
        no_one[i] = q / ROWS;
        plus[i] = (q + one) / ROWS;
        only[i] = one * (q - 1) / ROWS;
        not_scaled[i] = q - one;
        unscaled_one[i] = q / ROWS - one;
        unscaled_p[i] = q - one / ROWS;
        terms[i] = (q / largest - one) / ROWS;
    }
    judge("dx", ROWS * N, N, y->kept, NULL, gradient);
    x->x[0] = 200;
    x->x[5] = -200;
    y = cross_entropy(x, target);
    wrong_if(!isfinite(y->x[0]) || !isfinite(y->kept[0]) || !(fabsf(y->kept[0]) < 1), "large",
             "logitが200のとき、無限大かnanになる：largestを引いてから、指数関数を使う。\n",
             "With a logit of 200 it is infinite or nan: subtract largest before the exponential.\n");
    clear_tape();
}
#endif

/* ---- attention ------------------------------------------------------------------------------------------------------- */

#if defined COURSE_attention
enum { SENTENCES = 3, LENGTH = 3, HEADS = 2, WIDTH = 4, ALL = SENTENCES * LENGTH * HEADS * WIDTH };
typedef enum {
    CAUSAL, NO_MASK, REVERSED, MASK_AFTER, ZERO_SCORES, NOT_DIVIDED, ONE_TOO_MANY, NO_SCALE, SCALE_TWICE, NO_SOFTMAX,
    BY_COLUMNS, STRICT, KEYS_TWICE, QUERIES_TWICE, QUERIES_FOR_VALUES, NOT_ZEROED, TRANSPOSED, EXCHANGED_QK, KEYS_FOR_VALUES,
    ONE_SENTENCE, TIMES_SUM, HEADS_LEFT_OUT
} AttentionMistake;

/* Computes y and the weights w in double, correctly or with a mistake. */
static void attention_reference(AttentionMistake kind, const float *qkv, double *y, double *w)
{
    const int n = HEADS * WIDTH;
    for (int i = 0; i < ALL; i++) {
        y[i] = 0;
    }
    for (int h = 0; h < SENTENCES * HEADS; h++) {
        if (h >= (kind == ONE_SENTENCE ? HEADS : kind == HEADS_LEFT_OUT ? SENTENCES : SENTENCES * HEADS)) {
            break;
        }
        const float *start = qkv + h / HEADS * LENGTH * 3 * n + h % HEADS * WIDTH;
        const float *q = kind == EXCHANGED_QK ? start + n : start, *k = kind == EXCHANGED_QK ? start : start + n;
        const float *v = kind == KEYS_FOR_VALUES ? start + n : kind == QUERIES_FOR_VALUES ? start : start + 2 * n;
        q = kind == KEYS_TWICE ? k : q;
        k = kind == QUERIES_TWICE ? start : k;
        double e[LENGTH][LENGTH], hidden[LENGTH][LENGTH], column[LENGTH] = { 0 };
        for (int i = 0; i < LENGTH; i++) {
            for (int j = 0; j < LENGTH; j++) {
                double score = 0;
                for (int d = 0; d < WIDTH; d++) {
                    score += (double)q[i * 3 * n + d] * k[j * 3 * n + d];
                }
                score *= kind == NO_SCALE || kind == KEYS_TWICE ? 1
                         : kind == SCALE_TWICE || kind == QUERIES_TWICE ? 1. / WIDTH : 1 / sqrt(WIDTH);
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

static const Tensor *attention_y;           /* that is checked */
static double w_wanted[MOST];

static void look_at_weights(void)
{
    const int n = LENGTH * LENGTH;
    bool right = true;
    for (int i = 0; i < SENTENCES * HEADS * n; i += LENGTH) {
        const float *w = attention_y->kept + i / n * 2 * n + i % n;
        double total = 0;
        for (int j = 0; j < LENGTH; j++) {
            wrong_if(j > i / LENGTH % LENGTH && w[j] != 0, "mask",
                     "重み w[i][j] が、j > i でも0でない：マスクと、wの行iの始まり w.x + i * length を確かめる。\n",
                     "A weight w[i][j] with j > i is not 0: see the mask, and where row i of w begins, w.x + i * length.\n");
            total += w[j];
            right = right && fabs(w[j] - w_wanted[i + j]) < 1e-3;
        }
        wrong_if(!(fabs(total - 1) < 1e-3), "row_sum", "wの行の和が1でない：softmaxと、wの行iの始まり w.x + i * length を確かめる。\n",
                 "A row of w has not the sum 1: see the softmax, and where row i of w begins, w.x + i * length.\n");
    }
    wrong_if(right, "last_product", "重みwは正しい：そのあとの積を確かめる。\n", "The weights w are right: see the product after them.\n");
    wrong_if(true, "scores", "wの行の和は1だが、重みが違う：点数 q k^T を確かめる。\n",
             "Rows of w have the sum 1, but other weights: see the scores, q k^T.\n");
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
          "The mask acts after the softmax: the weights that are left do not have the sum 1. Only 0 to i go into the\n"
          "softmax.\n" },
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
        { KEYS_FOR_VALUES, "keys_for_values", "vでなくkを足している：head() のVALUESがvである。\n",
          "It adds k in place of v: v is VALUES of head().\n" },
        { KEYS_TWICE, "keys_twice", "点数が、qとkでなく、kとkの積である。\n", "The scores are products of k with k, not of q with k.\n" },
        { QUERIES_TWICE, "queries_twice", "点数が、qとkでなく、qとqの積である。\n",
          "The scores are products of q with q, not of q with k.\n" },
        { QUERIES_FOR_VALUES, "queries_for_values", "vでなくqを足している。\n", "It adds q in place of v.\n" },
        { ONE_SENTENCE, "one_sentence", "最初の窓だけである：hは rows / length * heads まで。\n",
          "It is the first window alone: h goes to rows / length * heads.\n" },
        { HEADS_LEFT_OUT, "heads_left_out", "ヘッドを抜かしている：hは、窓の数 rows / length でなく、rows / length * heads まで。\n",
          "Heads are left out: h goes to rows / length * heads, not to rows / length, the number of windows.\n" },
        { TIMES_SUM, "times_sum", "和をかけている：和で割る。\n", "It multiplies by the sum: divide by it.\n" },
        { NOT_DIVIDED, "not_divided", "e^(x - largest) を和で割っていない。\n", "e^(x - largest) is not divided by its sum.\n" },
        { NO_SCALE, "no_scale", "スコアに 1 / sqrt(width) がない：head(y, h, qkv->x, QUERIES) がもっている。\n",
          "The scores have no factor 1 / sqrt(width): head(y, h, qkv->x, QUERIES) has it.\n" },
        { SCALE_TWICE, "scale_twice", "1 / sqrt(width) が二回かかっている：head() のQUERIESが、もうもっている。\n",
          "The factor 1 / sqrt(width) acts twice: QUERIES of head() has it already.\n" },
        { NO_SOFTMAX, "no_softmax", "softmaxがない：スコアをそのまま重みにしている。\n",
          "There is no softmax: scores are taken for weights.\n" },
        { BY_COLUMNS, "by_columns", "列の和で割っている：ひとつのトークンの重みは、ひとつの行である。\n",
          "It divides by the sums of columns: the weights of one token are a row.\n" },
    };
    static double y_wanted[MOST], unused[MOST];
    crash_japanese = "wの場所は y->kept + 2 * h * length * length で、length * length 個の数をもつ。\n";
    crash_english = "The place of w is y->kept + 2 * h * length * length, with length * length numbers.\n";
    Tensor *y = attention(qkv, HEADS, LENGTH);
    attention_reference(CAUSAL, qkv->x, y_wanted, w_wanted);
    for (int k = 0; k < (int)(sizeof usual / sizeof *usual); k++) {
        attention_reference(usual[k].kind, qkv->x,
                            mistake_new(usual[k].name, usual[k].japanese, usual[k].english), unused);
    }
    infinite_japanese = "softmax_terms(n, ...) は、n = 0 なら和が0である：トークンiのnは i + 1。\n";
    infinite_english = "softmax_terms(n, ...) has the sum 0 if n is 0: n of token i is i + 1.\n";
    attention_y = y;
    look_closer = look_at_weights;
    judge("y", ALL, HEADS * WIDTH, y->x, NULL, y_wanted);
    const int n = LENGTH * LENGTH;
    for (int i = 0; i < SENTENCES * HEADS * n; i++) {
        double hidden = y->kept[i / n * 2 * n + i % n];
        wrong_if(i % n % LENGTH > i % n / LENGTH && hidden != 0 && fabs(hidden) < 0.01, "almost_hidden",
                 "見えないトークンに、小さな重みが残っている：ちょうど0にする。softmaxには、0からiまでだけを入れる。\n",
                 "Hidden tokens keep small weights: they must be exactly 0. Only 0 to i go into the softmax.\n");
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
#endif

/* ---- the check ------------------------------------------------------------------------------------------------------- */

enum { SKIP = 1, GPT = 2 };

static const struct {
    const char *name;
    int trainings;                          /* those that use the function */
    const char *japanese, *english;         /* where bits differ though numbers are right */
} assignment[] = {
    { "relu", SKIP, "小さいdyとは、大きさがFLT_MIN（正規化数の最小）より小さいものである。ほかの定数ではない。\n",
      "A small dy is one whose size is below FLT_MIN, the least normal number, not below another constant.\n" },
    { "linear", SKIP, "積は、どちらもCHAINで加える。\n", "Both products add in chains of CHAIN.\n" },
    { "tape", SKIP | GPT, "", "" },
    { "adam", SKIP | GPT, "丸める順番：fmaf、floatへの変換、1 / sqrt(c2) をかけること、1e-8を加える場所。\n",
      "The places of rounding: fmaf, conversions to float, the factor 1 / sqrt(c2), where 1e-8 is added.\n" },
    { "weights", SKIP | GPT, "幅は、floatでなくdoubleで計算する：1 / sqrt((double)in)。\n",
      "The width is computed in double, not in float: 1 / sqrt((double)in).\n" },
    { "loss", GPT, "確率は、exponential(logit - largest - (float)log_sum) に 1 / rows をかけたものである。\n",
      "A probability is exponential(logit - largest - (float)log_sum), and then times 1 / rows.\n" },
    { "embedding", GPT, "dyの行は、ひとつずつ、表の勾配に直接加える：SINGLE。\n",
      "Rows of dy are added one by one to the gradient of the table itself: SINGLE.\n" },
    { "gelu", GPT, "duと全体の式で、どこがfmafかを、文章で確かめる。\n",
      "See in the text where du and the whole formula have an fmaf.\n" },
    { "norm", GPT, "dbetaとdgammaは、sum_columns() で足す。sum(g c) は sum_gt - rest sum_g である（cは t - rest で、tではない）。\n"
      "係数はdoubleで計算してからfloatにし、三つの項は fmaf(-slope, t, fmaf(rstd, g, shift)) とする。\n",
      "sum_columns() adds dbeta and dgamma. sum(g c) is sum_gt - rest sum_g (c is t - rest, not t). Compute the factors in\n"
      "double, round them to float; the three terms are fmaf(-slope, t, fmaf(rstd, g, shift)).\n" },
    { "attention", GPT, "積はCHAINで加え、和の逆数をfloatにしてからかける。\n",
      "Products add in chains of CHAIN; the inverse of the sum is rounded to float, and then a factor.\n" },
};

/* Trains as tiny does, and compares the hashes of the weights and of what Adam keeps. */
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
    course_bits = COURSE_BITS;
    course_used = 0;
    course_quiet = true;
    tiny(n, options);
    course_quiet = false;
    char hashes[512] = "";
    for (char *line = strtok(course_log, "\n"); line; line = strtok(NULL, "\n")) {
        bool is_hash = strncmp(line, "SHA-256", 7) == 0 || strncmp(line, "Adam", 4) == 0;
        if (is_hash && strlen(hashes) + strlen(line) + 2 < sizeof hashes) {
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
    limit_time();
    int k = 0;
    while (strcmp(assignment[k].name, COURSE_NAME) != 0) {
        k++;
    }
    COURSE_CHECK();
    crash_japanese = "短い学習の途中である。\n";
    crash_english = "This is in the short training.\n";
    for (bits_expected = expected_bits; bits_expected->name && strcmp(bits_expected->name, COURSE_NAME) != 0;) {
        bits_expected++;
    }
    bits_of(COURSE_NAME);
    if (bits_differ) {
        course_say("数は正しいが、%s のビットが、ライブラリのものと違う。\n",
                   "The numbers are right, but the bits of %s are not those of the library.\n", bits_differ);
    }
    bool trained = true;
    for (int training = SKIP; training <= GPT && !bits_differ; training *= 2) {
        trained = trained && (!(assignment[k].trainings & training) || hash_is_equal(training == GPT));
    }
    if (!trained) {
        course_say("数は正しいが、学習した重みのハッシュが違う：ビットが違う。\n",
                   "The numbers are right, but the hash of the trained weights differs: other bits.\n");
    }
    if (bits_differ || !trained) {
        if (*assignment[k].english) {
            course_say("順番と丸め方は、課題の文章の「ビットのために」にある。\n",
                       "The text of the assignment has the order and the rounding (\"For the bits\").\n");
        }
        course_say(assignment[k].japanese, assignment[k].english);
        course_wrong("bits");
    }
    course_say("学習した重みのSHA-256が、ライブラリのものと等しい：正解。\n",
               "The SHA-256 of the trained weights is that of the library: right.\n");
    printf("[%s.right]%s\n", COURSE_NAME, COURSE_TOKEN);
    return 0;
}
