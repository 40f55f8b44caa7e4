/* weights_hash.c: the SHA-256 of all weights of a model. */
#include "common.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"
#include "sha256.h"

void weights_hash(void *module, char hash[65])
{
    NnParameters *p = nn_parameters(module);
    Sha256 h = sha256_begin();
    for (int i = 0; i < p->n; i++) {
        const Tensor *t = p->item[i].tensor;
        sha256_add(&h, tensor_data(t), (size_t)tensor_numel(t) * sizeof(ag_real));
    }
    sha256_end(&h, hash);
    ag_free(p);
}
