/* costs.c: what the tokens of a text cost, as colors and as a curve. */
#include "costs.h"

#include "common/common.h"
#include "tokens.h"

enum { ROWS = 200 };

/* Green, yellow, red and magenta: tokens that cost 1, 3, 6 and 10 bits or more. */
void show_text(const Predictor *p, const float *bits)
{
    static const struct { float bits; int color; } level[] = { { 10, 35 }, { 6, 31 }, { 3, 33 }, { 1, 32 }, { 0, 0 } };
    bool colors = example_shows_colors();
    KaeruTextStream stream = { .out = stdout };
    for (int64_t i = 0; i < p->count; i++) {
        int k = 0;
        size_t n;
        char byte;
        const char *bytes = token_bytes(p, p->id[i], &byte, &n);
        while (bits[i] < level[k].bits) {
            k++;
        }
        if (colors) {
            printf("\033[%dm", level[k].color);
        }
        kaeru_text_stream_put(&stream, bytes, n);
    }
    kaeru_text_stream_end(&stream);
    printf("%s\n", colors ? "\033[0m" : "");
}

/* The cost of ROWS pieces of the text, in bits a byte, and the mean up to there. */
void draw_curve(const Predictor *p, const float *bits)
{
    Csv *csv = csv_open("compress.csv", "byte,bits_per_byte,mean");
    double sum = 0, all = 0, bytes = 0, all_bytes = 0;
    for (int64_t i = 0, row = 1; i < p->count; i++) {
        size_t n;
        char byte;
        token_bytes(p, p->id[i], &byte, &n);
        bytes += (double)n;
        sum += (double)bits[i];
        if ((i + 1) * ROWS / p->count >= row) {
            all += sum;
            all_bytes += bytes;
            csv_row(csv, all_bytes, sum / bytes, all / all_bytes);
            row = (i + 1) * ROWS / p->count + 1;
            sum = bytes = 0;
        }
    }
    int64_t rows = csv_rows(csv);
    if (rows > 1) {
        chart_print(csv, &(Chart){ "bits a byte", "byte", false, { { "bits_per_byte", "here" }, { "mean", "mean so far" } } });
    }
    csv_close(csv);
    if (rows > 0) {                                                     /* none of an empty file */
        picture_draw("compress");
    }
}
