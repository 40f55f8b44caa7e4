/* patches.c: patches of images as plain loops. See plain.h. */
#include "plain.h"

/* Returns the place in x of item `item` of the window at row p->first + `row` and column `v`, or -1
 * in the padding. */
static int64_t place_of(const KPatches *p, int64_t item, int64_t row, int64_t v)
{
    int64_t channel = item / (p->kh * p->kw), i = item / p->kw % p->kh, j = item % p->kw;
    int64_t line = (p->first + row) * p->stride[0] + i * p->dilation[0] - p->padding[0];
    int64_t column = v * p->stride[1] + j * p->dilation[1] - p->padding[1];
    bool inside = line >= 0 && line < p->h && column >= 0 && column < p->w;
    return inside ? (channel * p->h + line) * p->w + column : -1;
}

void ref_patches(const KPatches *p, real *matrix, const real *x)
{
    for (int64_t item = 0; item < p->c * p->kh * p->kw; item++) {
        for (int64_t row = 0; row < p->rows; row++) {
            for (int64_t v = 0; v < p->ow; v++) {
                int64_t place = place_of(p, item, row, v);
                *matrix++ = place < 0 ? 0 : x[place];
            }
        }
    }
}

void ref_patches_add(const KPatches *p, real *x, const real *matrix)
{
    for (int64_t item = 0; item < p->c * p->kh * p->kw; item++) {
        for (int64_t row = 0; row < p->rows; row++) {
            for (int64_t v = 0; v < p->ow; v++) {
                int64_t place = place_of(p, item, row, v);
                real d = *matrix++;
                if (place >= 0) {
                    x[place] += d;
                }
            }
        }
    }
}
