/* frozen.h: the weights of a module in bfloat16: half of the memory. */
#ifndef KAERU_FROZEN_H
#define KAERU_FROZEN_H

#include "kaeru/module.h"

AG_PUBLIC_BEGIN

/* ag_pack_weight for all matrices, tables of embeddings too, or if not `packed`, ag_unpack_weight. lm_generate does so while it
 * runs, if products are in bfloat16. */
void nn_pack_weights(void *module, bool packed);

/* ag_freeze_bf16 for the weights of all Linears and Embeddings of which a row has an even size; adapters (lora.h) stay as they
 * are. The other parameters are frozen in reals. So a model takes two bytes a number, and its products need AG_BF16. */
void nn_freeze_bf16(void *module);

#include "kaeru/calls/frozen.h"

AG_PUBLIC_END
#endif
