/* bits.h: numbers whose bits must be those of tiny.c: sizes and values that the short trainings do not have. The whole tiny.c
 * prints a hash of each part when the folder of a class is made (expected.h); check.h compares with them. Sizes are within the
 * options of tiny.c: a right code may have arrays for these alone. */

/* Returns the next number of a sequence, with a size of 0.3 to 1.3. */
static uint32_t number_state = 1;
static double next_number(void)
{
    number_state = number_state * 1664525 + 1013904223;
    double size = 0.3 + (number_state >> 9) * 0x1p-23;
    return number_state >> 8 & 1 ? size : -size;
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

static void clear_tape(void)
{
    for (; on_tape > 0; on_tape--) {
        free(tape[on_tape - 1].x);
    }
}

typedef struct { const char *name; uint64_t hash; } ExpectedBits;
static const ExpectedBits *bits_expected;   /* of the next part; NULL: print it */
static const char *bits_name, *bits_differ; /* the assignment; the first part that differs */

/* Compares n numbers. 0 and -0 are equal. */
static void same_bits(const char *part, int n, const float *x)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (int i = 0; i < n; i++) {
        float number = x[i] == 0 ? 0 : x[i];
        uint32_t word;
        memcpy(&word, &number, sizeof word);
        hash = (hash ^ word) * 0x100000001b3;
    }
    if (!bits_expected) {
        printf("    { \"%s\", 0x%08x%08x },\n", bits_name, (unsigned)(hash >> 32), (unsigned)hash);
    } else if (hash != bits_expected++->hash && !bits_differ) {
        bits_differ = part;
    }
}

/* Calls the rule of y with some numbers for dy. */
static void rule_of(Tensor *y)
{
    for (int i = 0; i < count(y); i++) {
        y->grad[i] = (float)next_number();
    }
    y->rule(y);
    clear_tape();
}

static void bits_relu(void)
{
    const float x[] = { -1e30f, -1, -FLT_MIN, -0x1p-149f, 0, 0x1p-149f, FLT_MIN, 1e-10f, 0.5f, 1, 1e30f };
    const float dy[] = { 0, 0x1p-149f, FLT_MIN - 0x1p-149f, FLT_MIN, 2 * FLT_MIN, 1e-30f, 1e-10f, 1e-7f, 1, 1e30f };
    float dx[11 * 20];
    for (int i = 0; i < 11 * 20; i++) {
        dx[i] = relu_gradient(x[i / 20], i % 2 == 0 ? dy[i / 2 % 10] : -dy[i / 2 % 10]);
    }
    same_bits("dx (x = 0, dy = FLT_MIN, ...)", 11 * 20, dx);
}

static void bits_gelu(void)
{
    static float dx[4][640];
    for (int i = 0; i < 640; i++) {
        float x = (float)(i - 320) / 16 + (float)next_number() / 64, size = ldexpf(1, i / 2 % 64 - 62);
        dx[0][i] = gelu_gradient(x, 1);
        dx[1][i] = gelu_gradient(x, (float)next_number());
        dx[2][i] = gelu_gradient(i % 2 == 0 ? size : -size, 1);
        dx[3][i] = gelu_gradient((float)(1.5 * next_number()), 1);
    }
    same_bits("dx (-20 < x < 20, dy = 1)", 640, dx[0]);
    same_bits("dx (-20 < x < 20)", 640, dx[1]);
    same_bits("dx (x = 2^-62, 2^-61, ...)", 640, dx[2]);
    same_bits("dx (-2 < x < 2)", 640, dx[3]);
}

static void bits_linear(void)
{
    const int size[][3] = { { 1100, 5, 3 }, { 3, 4, 1100 }, { 70, 3, 70 } };      /* rows, in, out */
    const char *const part[][2] = { { "dW (1100 rows)", "dx (1100 rows)" }, { "dW (1100 outputs)", "dx (1100 outputs)" },
                                    { "dW (70 rows)", "dx (70 outputs)" } };
    for (int k = 0; k < 3; k++) {
        Tensor *x = numbers(size[k][0], size[k][1]), *weight = numbers(size[k][2], size[k][1]);
        rule_of(linear(x, weight));
        same_bits(part[k][0], count(weight), weight->grad);
        same_bits(part[k][1], count(x), x->grad);
    }
}

static void bits_adam(void)
{
    static Parameters q;
    Tensor *t[] = { parameter_new(&q, 8, 9), parameter_new(&q, 1, 40) };
    for (int step = 0; step < 24; step++) {
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < count(t[k]); i++) {
                t[k]->x[i] += step == 0 ? (float)next_number() : 0;
                t[k]->grad[i] = ldexpf((float)next_number(), -(i % 40));
            }
        }
        adam(&q, 0.3 / (1 + step % 3), step % 2 == 0 ? 0.999 : 0.99, 0.6 * (step % 5));
    }
    const char *const part[][3] = {
        { "average (a matrix)", "square (a matrix)", "x (a matrix, 24 steps with a decay)" },
        { "average (a vector)", "square (a vector)", "x (a vector, 24 steps with a decay)" } };
    for (int k = 0; k < 2; k++) {
        same_bits(part[k][0], count(t[k]), t[k]->average);
        same_bits(part[k][1], count(t[k]), t[k]->square);
        same_bits(part[k][2], count(t[k]), t[k]->x);
    }
}

static void bits_weights(void)
{
    static Parameters q;
    const int size[][2] = { { 3, 20 }, { 20, 3 }, { 1, 7 }, { 50, 60 } };         /* in, out */
    const char *const part[][2] = { { "weight (3 -> 20)", "bias (3 -> 20)" }, { "weight (20 -> 3)", "bias (20 -> 3)" },
                                    { "weight (1 -> 7)", "bias (1 -> 7)" }, { "weight (50 -> 60)", "bias (50 -> 60)" } };
    for (int k = 0; k < 8; k++) {
        counter = (uint32_t)k;
        Linear l = linear_new(&q, size[k / 2][0], size[k / 2][1], k % 2 == 0 ? 0 : 0.3);
        same_bits(part[k / 2][0], count(l.weight), l.weight->x);
        same_bits(part[k / 2][1], count(l.bias), l.bias->x);
    }
}

static void bits_loss(void)
{
    enum { ROWS = 7, N = 9, TIMES = 60 };
    static float loss[TIMES], dx[TIMES][ROWS * N];
    Tensor *x = numbers(ROWS, N);
    for (int k = 0; k < TIMES; k++) {
        int target[ROWS];
        x->rows = 1 + k % ROWS;
        for (int i = 0; i < ROWS * N; i++) {
            x->x[i] = (float)(next_number() * (k % 3 == 2 ? 80 : 1 + k % 3));
            target[i / N] = (i + k) % N;
        }
        const Tensor *y = cross_entropy(x, target);
        loss[k] = y->x[0];
        memcpy(dx[k], y->kept, (size_t)count(x) * sizeof *dx[k]);
        clear_tape();
    }
    same_bits("loss", TIMES, loss);
    same_bits("dx (some p are below e^-87)", TIMES * ROWS * N, dx[0]);
}

static void bits_embedding(void)
{
    Tensor *onehot = numbers(1100, 3), *table = numbers(3, 4);
    memset(onehot->x, 0, (size_t)count(onehot) * sizeof *onehot->x);
    for (int row = 0; row < 1100; row++) {
        onehot->x[row * 3 + row % 7 % 3] = 1;
    }
    onehot->grad = NULL;
    rule_of(embedding(onehot, table));
    same_bits("dtable (1100 rows)", count(table), table->grad);
}

static void bits_norm(void)
{
    const int size[][2] = { { 2100, 3 }, { 150, 37 }, { 2, 768 } };              /* rows, n */
    const char *const part[][3] = { { "dbeta (2100 rows)", "dgamma (2100 rows)", "dx (2100 rows)" },
                                    { "dbeta (150 rows)", "dgamma (150 rows)", "dx (rows of 37)" },
                                    { "dbeta (2 rows)", "dgamma (2 rows)", "dx (rows of 768)" } };
    for (int k = 0; k < 3; k++) {
        Tensor *x = numbers(size[k][0], size[k][1]), *gamma = numbers(1, x->n), *beta = numbers(1, x->n);
        for (int i = 0; i < count(x); i++) {
            x->x[i] += (float)(i / x->n % 5 * 250000);                  /* rest is not small */
            x->grad[i] = 0;                                             /* which hides no bits */
        }
        rule_of(layer_norm(x, gamma, beta));
        same_bits(part[k][0], x->n, beta->grad);
        same_bits(part[k][1], x->n, gamma->grad);
        same_bits(part[k][2], count(x), x->grad);
    }
}

static void bits_attention(void)
{
    const int size[][3] = { { 80, 1, 2 }, { 3, 2, 520 }, { 70, 2, 70 } };        /* length, heads, width */
    const char *const part[][2] = { { "w (length 80)", "y (length 80)" }, { "w (width 520)", "y (width 520)" },
                                    { "w (length 70, width 70)", "y (length 70, width 70)" } };
    for (int k = 0; k < 3; k++) {
        int length = size[k][0], heads = size[k][1];
        const Tensor *y = attention(numbers(length, 3 * heads * size[k][2]), heads, length);
        for (int h = 0; h < heads; h++) {
            same_bits(part[k][0], length * length, y->kept + 2 * h * length * length);
        }
        same_bits(part[k][1], count(y), y->x);
        clear_tape();
    }
}

/* Computes the parts of an assignment; the tape has none. */
static void bits_of(const char *name)
{
    const struct { const char *name; void (*compute)(void); } assignment[] = {
        { "relu", bits_relu }, { "linear", bits_linear }, { "adam", bits_adam }, { "weights", bits_weights },
        { "loss", bits_loss }, { "embedding", bits_embedding }, { "gelu", bits_gelu }, { "norm", bits_norm },
        { "attention", bits_attention },
    };
    for (int k = 0; k < (int)(sizeof assignment / sizeof *assignment); k++) {
        if (strcmp(assignment[k].name, name) == 0) {
            number_state = 1;
            bits_name = name;
            assignment[k].compute();
        }
    }
}
