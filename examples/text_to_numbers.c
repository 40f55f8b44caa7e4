/* text_to_numbers.c: tokens, ids, one-hot vectors, an embedding table, positions, and why the order of words is lost. */
#include <math.h>
#include <string.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

enum { TOKENS = 14, IDS = 6, TABLE = 13, COLUMNS = 8, WIDTH = 64 };
/* "Inoue has a dog, and Omori has a cat." The other sentence has the two names exchanged. */
static const char *const sentence[2][TOKENS] = {
    { "井上", "さん", "は", "犬", "を", "、", "大森", "さん", "は", "猫", "を", "飼って", "います", "。" },
    { "大森", "さん", "は", "犬", "を", "、", "井上", "さん", "は", "猫", "を", "飼って", "います", "。" },
};
static const int32_t ids[IDS] = { 2, 1, 3, 12, 9, 5 };

/* Each new token gets the next free number. dictionary: at least TOKENS entries. */
static Tensor *ids_of(const char *const *token, const char **dictionary, int *known)
{
    Tensor *t = tensor_ints(SHAPE(1, TOKENS), NULL);
    for (int i = 0; i < TOKENS; i++) {
        int id = 0;
        while (id < *known && strcmp(dictionary[id], token[i]) != 0) {
            id++;
        }
        if (id == *known) {
            dictionary[(*known)++] = token[i];
        }
        tensor_mutable_int_data(t)[i] = id;
        say(" %s=%d", token[i], id);
    }
    printf("\n");
    return t;
}

/* ---- one-hot vectors and the embedding table --------------------------------------------------------------------- */

static void write_matrix(Csv *csv, const char *name, Tensor *t)
{
    int64_t columns = tensor_dim(t, 1);
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        csv_named_row(csv, name, (double)(i / columns), (double)(i % columns), (double)tensor_data(t)[i]);
    }
}

static void show_vectors(void)
{
    Tensor *id = tensor_ints(SHAPE(IDS), ids), *one_hot = ag_one_hot(id, TABLE);
    say("\nFrom a vocabulary of %d words: inner products of the one-hot vectors of the ids 2, 1, 3, 12, 9, 5. Each is like\n"
        "itself and nothing else.\n", TABLE);
    tensor_print(ag_matmul(one_hot, ag_transpose(one_hot, 0, 1)));

    Tensor *table = tensor_normal(SHAPE(TABLE, COLUMNS), 0, 1), *rows = ag_embedding(table, id);
    say("\nFrom a table of %d rows and %d columns the ids take six rows:\n", TABLE, COLUMNS);
    tensor_print(rows);
    say("The product of the one-hot vectors and the table takes the same rows: the difference is %g.\n",
        tensor_item(ag_max(ag_abs(ag_sub(rows, ag_matmul(one_hot, table))))));
    Csv *csv = csv_open("text_to_numbers.csv", "matrix,row,column,value");
    write_matrix(csv, "one-hot", one_hot);
    write_matrix(csv, "table", table);
    write_matrix(csv, "rows", rows);
    csv_close(csv);

    char text[AG_SHAPE_TEXT];
    Embedding *embedding = nn_embedding_new(100, 512);
    Tensor *three = nn_embedding(embedding, tensor_ints(SHAPE(3), (const int32_t[]){ 1, 2, 3 }));
    say("From a table (100, 512) the ids 1, 2, 3 take a tensor %s.\n", ag_shape_text(tensor_shape(three), text));
    ag_free(embedding);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Three ways to number positions, in a short and in a long sentence. */
static void show_positions(void)
{
    Csv *csv = csv_open("text_to_numbers_positions.csv", "length,position,i,share,wave");
    for (int length = 5; length <= 20; length *= 4) {
        for (int i = 0; i < length; i++) {
            csv_row(csv, length, i, i, (double)i / length, ag_math_sin(i));
        }
    }
    csv_close(csv);
    say("\nThe word at position 3 of   5 words   20 words   5000 words; the last of 5000 words\n"
        "  the number i          %9d %10d %12d %17d\n  i / N                 %9.4f %10.4f %12.4f %17.4f\n"
        "  sin i                 %9.4f %10.4f %12.4f %17.4f\n",
        3, 3, 3, 4999, 3 / 5.0, 3 / 20.0, 3 / 5000.0, 4999 / 5000.0, ag_math_sin(3), ag_math_sin(3), ag_math_sin(3),
        ag_math_sin(4999));
}

/* The distance of y's row i from the nearest row of z that belongs to the same word. */
static double moved(Tensor *id[2], int i, const ag_real *y, const ag_real *z)
{
    double least = INFINITY;
    for (int j = 0; j < TOKENS; j++) {
        double sum = 0;
        for (int d = 0; d < WIDTH; d++) {
            double difference = (double)(y[i * WIDTH + d] - z[j * WIDTH + d]);
            sum += difference * difference;
        }
        least = fmin(least, tensor_int_data(id[0])[i] == tensor_int_data(id[1])[j] ? sqrt(sum) : INFINITY);
    }
    return least;
}

static void show_order(Tensor *id[2], int vocabulary)
{
    Embedding *embedding = nn_embedding_new(vocabulary, WIDTH);
    MultiHeadAttention *attention = nn_multi_head_attention_new(4, WIDTH, 0);
    PositionalEncoding *positions = nn_positional_encoding_new(WIDTH, 0, TOKENS);
    const ag_real *plain[2], *placed[2];
    for (int k = 0; k < 2; k++) {
        Tensor *x = nn_embedding(embedding, id[k]), *p = nn_positional_encoding(positions, x);
        plain[k] = tensor_data(nn_multi_head_attention(attention, x, x, x, NULL));
        placed[k] = tensor_data(nn_multi_head_attention(attention, p, p, p, NULL));
    }
    Csv *csv = csv_open("text_to_numbers_order.csv", "token,without,with");
    say("\nIf the two names are exchanged, how far does the vector of each word move?\n"
        "  without positions   with positions\n");
    for (int i = 0; i < TOKENS; i++) {
        double without = moved(id, i, plain[0], plain[1]), with = moved(id, i, placed[0], placed[1]);
        csv_named_row(csv, sentence[0][i], without, with);
        say("%19.5f %16.5f  %s\n", without, with, sentence[0][i]);
    }
    csv_close(csv);
    ag_free(embedding);
    ag_free(attention);
    ag_free(positions);
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, &(Program){ "text_to_numbers",
        "Shows how a text becomes numbers: tokens, ids, one-hot vectors, rows of an embedding table; three ways to number\n"
        "the positions; and that attention without positions cannot tell who has the dog and who has the cat.\n\n"
        "Writes text_to_numbers.csv (matrix,row,column,value), text_to_numbers_positions.csv\n"
        "(length,position,i,share,wave) and text_to_numbers_order.csv (token,without,with: how far its vector moves), and\n"
        "draws them.", (const NnField[]){ NN_FIELDS_END } });
    AgScope scope = ag_begin(AG_NO_GRAD);
    const char *dictionary[2 * TOKENS];
    int known = 0;
    say("Each new token gets the next number:\n");
    Tensor *id[2] = { ids_of(sentence[0], dictionary, &known), ids_of(sentence[1], dictionary, &known) };
    show_vectors();
    show_positions();
    show_order(id, known);
    picture_draw("text_to_numbers");
    picture_draw("text_to_numbers_order");
    ag_end(scope);
    return example_end();
}
