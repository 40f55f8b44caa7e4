/* linear_loss_parts.h: how many logits of linear_cross_entropy exist at a time. */
#ifndef KAERU_LINEAR_LOSS_PARTS_H
#define KAERU_LINEAR_LOSS_PARTS_H

#include <stdint.h>

/* Of more logits, linear_cross_entropy computes only a part at a time. The tests set a smaller number. */
extern int64_t most_logits;

#endif
