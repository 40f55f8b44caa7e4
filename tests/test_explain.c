/* test_explain.c: ag_explain prints the numbers of ag_backward, for every operation, and does not change the graph; and the
 * frames of ag_graph_frame. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "kaeru/autograd.h"
#include "op_samples.h"
#include "trace.h"
#include "suites.h"
#include "usage_error.h"

enum { MAX_ITEMS = 9, MAX_LINE = 170 };      /* 170: 8 dimensions have many brackets */

static Tensor *scalar(const char *name, double value)
{
    return tensor_name(tensor_set_requires_grad(tensor_full(AG_SCALAR, value), true), name);
}

/* ---- every operation --------------------------------------------------------------------------------------------- */

/* Reads the numbers of one line from `at` on, skipping words and shapes; returns how many. */
static int numbers_of_line(const char *at, double *number, int room)
{
    int n = 0;
    while (*at && *at != '\n') {
        if (*at == '(') at += strcspn(at, ")\n");
        char *end;
        double x = strtod(at, &end);
        if (end == at) {
            at++;
            continue;
        }
        ck_assert_int_lt(n, room);
        number[n++] = x;
        at = end;
    }
    return n;
}

/* The value of the printed number. */
static double as_printed(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.5g", x);
    return strtod(text, NULL);
}

/* The text at `at` must be these values: all of them or, for more than FEW, least, largest and norm. */
static void check_values(const char *what, const char *at, int64_t n, const ag_real *value)
{
    double number[MAX_ITEMS + 1];
    ck_assert_msg(at != NULL, "%s is not printed", what);
    int count = numbers_of_line(at, number, MAX_ITEMS + 1);
    if (n > MAX_ITEMS || n == 0) {
        double low = 0, high = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) {
            if (i == 0 || (double)value[i] < low) low = (double)value[i];
            if (i == 0 || (double)value[i] > high) high = (double)value[i];
            squares += (double)value[i] * (double)value[i];
        }
        ck_assert_msg(count == (n == 0 ? 0 : 3), "%s: %.100s", what, at);
        if (n == 0) return;
        ck_assert_msg(number[0] == as_printed(low) && number[1] == as_printed(high), "%s: %.100s", what, at);
        ck_assert_double_eq_tol(number[2] * number[2], squares, 1e-3 * squares + 1e-30);
        return;
    }
    ck_assert_msg(count == n, "%s: %d numbers, expected %d: %.100s", what, count, (int)n, at);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(number[i] == as_printed((double)value[i]), "%s, item %d: %g, expected %g", what, (int)i, number[i],
                      (double)value[i]);
}

/* The text after the last "prefix + name + = " in the text; NULL: none. */
static const char *last_after(const char *text, const char *prefix, const char *name)
{
    char label[64];
    snprintf(label, sizeof label, "%s%s = ", prefix, name);
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, label)) != NULL; at++) found = at + strlen(label);
    return found;
}

/* The value after the last "=" of this line and of those that continue it. */
static const char *after_last_sign(const char *line)
{
    const char *last = line;
    for (const char *c = line; *c && (*c != '\n' || strncmp(c, "\n               ", 16) == 0); c++)
        if (*c == '=') last = c + 1;
    return last;
}

static void check_node(const char *text, const Op *op, Tensor *t)
{
    char what[128], leaf[32];
    Tensor *grad = t->requires_grad ? tensor_grad(t) : NULL;
    if (!grad) return;
    snprintf(what, sizeof what, "%s: gradient of %s", op->name, t->origin.name);
    snprintf(leaf, sizeof leaf, "%-5s", t->origin.name);
    const char *own = last_after(text, t->op ? "with    d" : "  d", t->op ? t->origin.name : leaf);
    ck_assert_msg(own != NULL, "%s is not printed:\n%s", what, text);
    char line[4096];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(own, "\n"), own);
    char *end = strchr(line, line[0] == '<' ? '>' : 'n');           /* other values that the rule reads: ", n3 = ..." */
    if (end) *end = '\0';
    check_values(what, line, t->numel, reals(grad));
    const char *gives = last_after(text, "gives   d", t->origin.name), *adds = last_after(text, "adds    d", t->origin.name);
    const char *last = !gives || (adds && adds > gives) ? adds : gives;
    if (last) check_values(what, after_last_sign(last), t->numel, reals(grad));
}

static int check_text(const Op *op, int number, bool alias)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *in[MAX_INPUTS] = { NULL };
    Sample sample = { .number = number, .in = in, .alias = alias };
    Tensor *y = op_samples[op - op_table](&sample);
    if (!y) {
        ag_end(s);
        return 0;
    }
    Tensor *loss = ag_sum(ag_mul(y, tensor_normal(tensor_shape(y), 0, 1)));
    uint32_t n;
    Tensor **node = graph_nodes("test", loss, &n);
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", (unsigned)i);
        tensor_name(node[i], name);
        if (node[i]->op) ag_retain(node[i]);
    }
    char *text = explained(loss);
    ck_assert_ptr_nonnull(strstr(text, op->name));
    for (const char *end, *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1)
        ck_assert_msg(end - line <= MAX_LINE, "%s: a long line: %.300s", op->name, line);
    ag_backward_keep(loss);
    for (uint32_t i = 0; i < n; i++) check_node(text, op, node[i]);
    free(text);
    for (int i = 0; i < MAX_INPUTS; i++) tensor_free(in[i]);
    ag_end(s);
    return 1;
}

START_TEST(the_numbers_equal_those_of_backward)
{
    const Op *op = &op_table[_i];
    ag_seed(7);
    int cases = 0;
    while (check_text(op, cases, false) && check_text(op, cases, true)) cases++;
    ck_assert_int_ge(cases, 8);
}
END_TEST

/* ---- the text ---------------------------------------------------------------------------------------------------- */

START_TEST(a_value_used_twice)
{
    char expected[2048];
    AgScope s = ag_begin(AG_RECORD);
    int line = __LINE__ + 1;
    Tensor *a = scalar("a", 1), *b = tensor_name(ag_add(a, a), "b"), *h = tensor_name(ag_tanh(b), "h");
    Tensor *c = tensor_name(ag_mul(h, b), "c");
    snprintf(expected, sizeof expected,
             "Forward, in this order:\n"
             "  a      = 1    requires a gradient\n"
             "  b      = add(a, a) = 2    a + a\n"
             "  h      = tanh(b) = 0.96403    tanh b\n"
             "  c      = mul(h, b) = 1.9281    h b, elementwise\n"
             "\n"
             "Backward, in reverse order. d<name> is the derivative of c with respect to <name>, so dc = 1.\n"
             "   1.  c = mul(h, b)    at tests/test_explain.c:%d\n"
             "       rule    dh = dc b, db = dc h\n"
             "       with    dc = 1, h = 0.96403, b = 2\n"
             "       gives   dh = 2\n"
             "       gives   db = 0.96403\n"
             "   2.  h = tanh(b)    at tests/test_explain.c:%d\n"
             "       rule    db = dh (1 - h^2)\n"
             "       with    dh = 2, h = 0.96403\n"
             "       adds    db = 0.96403 + 0.1413 = 1.1053\n"
             "   3.  b = add(a, a)    at tests/test_explain.c:%d\n"
             "       rule    da = db + db\n"
             "       with    db = 1.1053 (complete: the sum over its 2 uses)\n"
             "       gives   da = 1.1053 + 1.1053 = 2.2107\n"
             "\n"
             "Gradients of the leaves:\n"
             "  da     = 2.2107\n", line + 1, line, line);
    char *text = explained(c);
    ck_assert_str_eq(text, expected);
    free(text);
    ag_end(s);
}
END_TEST

static void check_parts(const char *text, const char *const *part, size_t n)
{
    for (size_t i = 0; i < n; i++) ck_assert_msg(strstr(text, part[i]) != NULL, "\"%s\" is missing in\n%s", part[i], text);
}

/* The parts of a sum have lines of their own if they are several numbers. */
START_TEST(gradients_of_several_numbers_have_lines)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_name(tensor_ones(SHAPE(2)), "x"), true);
    char *text = explained(ag_sum(ag_mul(ag_neg(x), x)));
    const char *parts[] = { "gives   dx = [-1, -1]\n",
                            "adds    dx = [-1, -1]\n               + [-1, -1]\n               = [-2, -2]\n" };
    check_parts(text, parts, sizeof parts / sizeof *parts);
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(names_shapes_and_numbers)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_name(tensor_ones(SHAPE(4, 5)), "layer.0.weight"), true);
    Tensor *x = tensor_name(tensor_set_requires_grad(tensor_arange(0, 6, 1), true), "x");
    Tensor *other = tensor_name(tensor_ones(SHAPE(6)), "x");
    Tensor *ids = tensor_ints(SHAPE(2), ((int32_t[]){ 3, 0 }));
    Tensor *table = tensor_name(tensor_set_requires_grad(tensor_ones(SHAPE(4, 2)), true), "E");
    Tensor *rows = ag_sum(ag_embedding(table, ids)), *total = ag_clamp(ag_sum(w), -1.5, 30);
    Tensor *y = ag_pow_scalar(ag_add(rows, total), 3);
    y = ag_mul(y, ag_mean(ag_reshape(ag_mul(x, other), SHAPE(1, 3, 2))));
    char *text = explained(y);
    const char *parts[] = {
        "  E      = [[1, 1], [1, 1], [1, 1], [1, 1]]    requires a gradient\n",
        "  ids1   = [3, 0]    a constant\n",
        " = embedding(E, ids1) = [[1, 1], [1, 1]]    rows of E\n",
        "= <(4, 5) from 1 to 1, norm 4.4721>    requires a gradient, \"layer.0.weight\"\n",
        "= [[[0, 1], [2, 3], [4, 5]]]",
        " limited to -1.5..30\n",
        "  weight1 = <(4, 5)", "    add1^3\n", "dadd1 = dpow_scalar1 3 add1^(3 - 1)\n", "  loss   = mul(pow_scalar1, ",
        "dE[id] = sum of d",
    };
    check_parts(text, parts, sizeof parts / sizeof *parts);
    ck_assert_ptr_null(strstr(text, "= mul(x, x)"));                /* two tensors of one name get other symbols */
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(a_summary_of_nothing_but_nan)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(4, 5)), true);
    char *text = explained(ag_sum(ag_mul(x, tensor_full(SHAPE(4, 5), (double)NAN))));
    ck_assert_ptr_nonnull(strstr(text, "= <(4, 5) from nan to nan, norm nan>"));
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(formulas_name_only_the_inputs_of_the_call)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_name(tensor_set_requires_grad(tensor_ones(SHAPE(2, 2)), true), "w");
    Tensor *x = tensor_name(tensor_ones(SHAPE(3, 2)), "x"), *u = tensor_name(ag_linear(x, w, NULL), "u");
    Tensor *p = tensor_name(ag_masked_softmax(u, NULL, 1), "p");
    Tensor *n = tensor_name(ag_layer_norm(p, NULL, NULL, AG_NORM_PYTORCH), "n");
    Tensor *y = tensor_name(ag_sum(n), "y");
    char *text = explained(y);
    const char *parts[] = {
        "    x w^T\n", "dx = du w\n               dw = du^T x\n       with", "softmax of 1 u along the last dimension\n",
        "\n               (p - mean) / deviation over the last dimension\n",
        "with g = dn, n = (p - mean) / deviation\n       with",
    };
    check_parts(text, parts, sizeof parts / sizeof *parts);
    free(text);
    Tensor *mask = tensor_name(tensor_bools(SHAPE(2), NULL), "mask");
    Tensor *b = tensor_name(tensor_ones(SHAPE(2)), "b"), *all = ag_linear(x, w, b);
    text = explained(ag_sum(ag_masked_softmax(all, mask, 1)));
    const char *with[] = { "    x w^T + b\n", "db = sum of dlinear1 over rows\n", "among the entries where mask is true\n" };
    check_parts(text, with, sizeof with / sizeof *with);
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(gradients_of_one_tensor_are_a_sum)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = scalar("x", 3), *add1 = scalar("add1", 1);
    Tensor *sum = ag_add(x, add1), *square = ag_mul(x, x);
    char *text = explained(ag_mul(sum, ag_sub(square, ag_div(x, x))));
    const char *parts[] = {
        "rule    dx = dmul1 x + dmul1 x\n", "rule    dx = ddiv1 / x - ddiv1 x / x^2\n",
        "  t2     = add(x, add1) = 4 ",                             /* the program calls another tensor add1 */
        "  loss   = mul(t2, sub1) = 32 ",
    };
    check_parts(text, parts, sizeof parts / sizeof *parts);
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(it_changes_nothing)
{
    ag_seed(2);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_normal(SHAPE(7, 5), 0, 1), true), *x = tensor_normal(SHAPE(9, 5), 0, 1);
    Tensor *h = ag_dropout(ag_gelu(ag_linear(x, w, NULL)), 0.3), *loss = ag_mean(ag_mul(h, ag_tanh(h)));
    AgRandom random = ag_random_state();
    size_t in_use = ag_memory().in_use;
    free(explained(loss));
    ck_assert_uint_eq(ag_memory().in_use, in_use);
    ck_assert_uint_eq(ag_random_state().counter, random.counter);
    ck_assert_ptr_null(tensor_grad_data(w));
    ag_backward_keep(loss);
    ag_real before[35];
    memcpy(before, tensor_grad_data(w), sizeof before);
    char *first = explained(loss), *second = explained(loss);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
    ck_assert_mem_eq(before, tensor_grad_data(w), sizeof before);
    tensor_zero_grad(w);
    ag_backward(loss);
    ck_assert_mem_eq(before, tensor_grad_data(w), sizeof before);
    ag_end(s);
}
END_TEST

START_TEST(a_loss_that_is_a_leaf_and_released_values)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = scalar("a", 2);
    char *text = explained(a);
    ck_assert_ptr_nonnull(strstr(text, "da = 1.\n"));
    ck_assert_ptr_nonnull(strstr(text, "  da     = 1\n"));
    free(text);
    Tensor *b = tensor_name(ag_neg(a), "b"), *first = ag_neg(b), *second = ag_scale(b, 3);
    ag_backward(first);                                         /* releases b's value; `second` still needs b's rule */
    text = explained(second);
    ck_assert_ptr_nonnull(strstr(text, "  b      = neg(a) = (released)"));
    ck_assert_ptr_nonnull(strstr(text, "  da     = -3\n"));
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(a_weight_in_bfloat16_shows_its_shape)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_name(ag_keep(tensor_from(SHAPE(1, 2), (ag_real[]){ 1, 2 })), "w");
    Tensor *before = ag_sum(ag_mul(tensor_set_requires_grad(tensor_ones(SHAPE(1, 2)), true), w));
    ag_freeze_bf16(w);
    EXPECT_USAGE_ERROR("ag_freeze_bf16 wrote it", ag_explain(stderr, before));
    ag_precision(AG_BF16);
    char *text = explained(ag_sum(ag_linear(tensor_set_requires_grad(tensor_ones(SHAPE(1, 2)), true), w, NULL)));
    ck_assert_ptr_nonnull(strstr(text, "= <(1, 2) in bfloat16>\n"));
    free(text);
    ag_precision(AG_FLOAT32);
    ag_end(s);
    ag_free(w);
}
END_TEST

START_TEST(a_fused_operation_shows_no_value_before_its_activation)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_from(SHAPE(1, 2), (ag_real[]){ 1, 2 }), true);
    Tensor *x = tensor_name(tensor_ones(SHAPE(1, 2)), "x");
    Tensor *y = tensor_name(ag_linear_activate(x, tensor_name(w, "w"), NULL, AG_RELU), "y");
    char *text = explained(ag_sum(y));
    ck_assert_ptr_nonnull(strstr(text, " = linear(x, w) = (released)"));
    ck_assert_ptr_nonnull(strstr(text, "  y      = relu("));
    ck_assert_ptr_nonnull(strstr(text, "  dw     = [[1, 1]]"));
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(usage_errors_are_reported)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = scalar("a", 2), *two = tensor_set_requires_grad(tensor_ones(SHAPE(2)), true), *none = NULL;
    EXPECT_USAGE_ERROR("ag_explain: the loss is NULL", ag_explain(stderr, none));
    EXPECT_USAGE_ERROR("ag_explain: the file is NULL", ag_explain(NULL, a));
    EXPECT_USAGE_ERROR("ag_explain: the loss has shape (2,), expected one item", ag_explain(stderr, ag_neg(two)));
    EXPECT_USAGE_ERROR("ag_explain: the loss does not require a gradient", ag_explain(stderr, tensor_ones(AG_SCALAR)));
    Tensor *loss = ag_neg(a);
    ag_backward(loss);
    EXPECT_USAGE_ERROR("ag_explain: an earlier backward has run through neg (made at tests/", ag_explain(stderr, loss));
    EXPECT_USAGE_ERROR("ag_graph_frame: the file is NULL", ag_graph_frame(NULL, ag_neg(a), 0));
    EXPECT_USAGE_ERROR("ag_graph_frame: there is no frame 4; this graph has 4", ag_graph_frame(stderr, ag_neg(a), 4));
    EXPECT_USAGE_ERROR("ag_graph_frame: there is no frame -1", ag_graph_frame(stderr, ag_neg(a), -1));
    ag_end(s);
}
END_TEST

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static char *framed(Tensor *loss, int frame, int frames)
{
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(ag_graph_frame(f, loss, frame), frames);
    return text_of(f);
}

/* Frame number `frame` of 8 has these parts. */
static void check_frame(Tensor *loss, int frame, int n, const char *const *part)
{
    char *text = framed(loss, frame, 8);
    for (int i = 0; i < n; i++)
        ck_assert_msg(strstr(text, part[i]) != NULL, "frame %d lacks %s:\n%s", frame, part[i], text);
    free(text);
}
#define FRAME(loss, frame, ...) \
    check_frame(loss, frame, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), (const char *[]){ __VA_ARGS__ })

/* The label of an edge. */
#define PASSED(number) \
    "[label=<<table border=\"0\" fixedsize=\"true\" width=\"90\" height=\"28\"><tr><td>" number "</td></tr></table>>]"

START_TEST(values_appear_and_then_gradients)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = scalar("a", 1), *b = tensor_name(ag_add(a, a), "b"), *h = tensor_name(ag_scale(b, 3), "h");
    Tensor *c = tensor_name(ag_mul(h, b), "c");
    FRAME(c, 0, "label=\"forward 0 of 3\\n \\n \"", "n0 [label=\"a\\n1\\n\"", "n1 [label=\"b = add(a, a)\\n\\n\"",
          "style=dashed");
    FRAME(c, 1, "label=\"forward 1 of 3\\nb = a + a\\n \"", "n1 [label=\"b = add(a, a)\\n2\\n\"",
          "n2 [label=\"h = scale(b)\\n\\n\"",
          "n0 -> n1 [color=");
    FRAME(c, 3, "forward 3 of 3\\nc = h b, elementwise\\n \"", "n3 [label=\"c = mul(h, b)\\n12\\n\"");
    FRAME(c, 4, "backward 0 of 3\\n \\n \"", "n3 [label=\"c = mul(h, b)\\n12\\ndc = 1\"", "n2 [label=\"h = scale(b)\\n6\\n\"");
    FRAME(c, 5, "backward 1 of 3\\ndh = dc b\\ndb = dc h\"", "\\ndh = 2\"", "\\ndb = 6 so far\"",
          "n1 -> n3 [color=\"#d55e00\", penwidth=2, dir=back] " PASSED("6"), "n1 -> n2 " PASSED(""));
    FRAME(c, 6, "backward 2 of 3\\ndb = 3 dh\\n \"", "n1 -> n3 " PASSED("6"), "\\ndb = 6 + 6 = 12\"", "n0 [label=\"a\\n1\\n\"",
          "n1 -> n2 [color=\"#d55e00\", penwidth=2, dir=back] " PASSED("6"));
    FRAME(c, 7, "backward 3 of 3\\nda = db + db\\n \"", "n0 [label=\"a\\n1\\nda = 12 + 12 = 24\"");
    ag_end(s);
}
END_TEST

START_TEST(each_node_once_in_a_large_graph)
{
    enum { LAYERS = 300 };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = scalar("x", 1);
    for (int i = 0; i < LAYERS; i++) x = ag_add(x, x);
    char *text = framed(x, 0, 2 * (LAYERS + 1));
    int nodes = 0, edges = 0;
    for (char *at = text; (at = strstr(at, "[label=\"")) != NULL; at++) nodes++;
    for (char *at = text; (at = strstr(at, "->")) != NULL; at++) edges++;
    ck_assert_int_eq(nodes, LAYERS + 1);
    ck_assert_int_eq(edges, 2 * LAYERS);
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(graphviz_can_read_every_frame)
{
    if (system("dot -V >/dev/null 2>&1") != 0) return;              /* not installed */
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_name(tensor_set_requires_grad(tensor_ones(SHAPE(3, 4)), true), "a \"name\"\nof two lines \\");
    Tensor *y = ag_cross_entropy(ag_linear(x, x, NULL), tensor_ints(SHAPE(3), NULL), AG_MEAN, -100, 0);
    for (int i = 0, n = 1; i < n; i++) {
        FILE *f = popen("dot -Tsvg >/dev/null", "w");
        ck_assert_ptr_nonnull(f);
        n = ag_graph_frame(f, y, i);
        ck_assert_int_eq(pclose(f), 0);
    }
    ag_end(s);
}
END_TEST

/* The text and the drawings of a graph take a time that is proportional to its nodes. */
START_TEST(a_large_graph)
{
    enum { LENGTH = 100000 };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_name(tensor_set_requires_grad(tensor_ones(SHAPE(1)), true), "x"), *y = x;
    for (int i = 0; i < LENGTH; i++) y = ag_tanh(y);
    Tensor *loss = ag_sum(y);
    char *text = explained(loss), *drawing = framed(loss, 0, 2 * (LENGTH + 2));
    ck_assert_ptr_nonnull(strstr(text, "  tanh100000 = tanh(tanh99999) = "));
    ck_assert_ptr_nonnull(strstr(text, "  loss   = sum_dims(tanh100000) = "));
    ck_assert_ptr_nonnull(strstr(drawing, "  n100000 -> n100001;"));
    free(text);
    free(drawing);
    ag_end(s);
}
END_TEST

Suite *explain_suite(void)
{
    Suite *suite = suite_create("explain");
    TCase *every = tcase_create("every operation");
    tcase_add_loop_test(every, the_numbers_equal_those_of_backward, 0, OP_COUNT);
    suite_add_tcase(suite, every);
    TCase *text = tcase_create("the text");
    tcase_add_test(text, a_value_used_twice);
    tcase_add_test(text, gradients_of_several_numbers_have_lines);
    tcase_add_test(text, names_shapes_and_numbers);
    tcase_add_test(text, a_summary_of_nothing_but_nan);
    tcase_add_test(text, formulas_name_only_the_inputs_of_the_call);
    tcase_add_test(text, gradients_of_one_tensor_are_a_sum);
    tcase_add_test(text, it_changes_nothing);
    tcase_add_test(text, a_loss_that_is_a_leaf_and_released_values);
    tcase_add_test(text, a_weight_in_bfloat16_shows_its_shape);
    tcase_add_test(text, a_fused_operation_shows_no_value_before_its_activation);
    tcase_add_test(text, usage_errors_are_reported);
    tcase_add_test(text, a_large_graph);
    suite_add_tcase(suite, text);
    TCase *frames = tcase_create("frames");
    tcase_add_test(frames, values_appear_and_then_gradients);
    tcase_add_test(frames, each_node_once_in_a_large_graph);
    tcase_add_test(frames, graphviz_can_read_every_frame);
    suite_add_tcase(suite, frames);
    return suite;
}
