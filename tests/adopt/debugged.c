/* debugged.c: tensors and a module for a debugger to print. */
#include <kaeru/kaeru.h>

typedef struct { Module module; Linear *fc1; Sequential *rest; } Net;

static void here(Tensor *x, Tensor *ids, Tensor *mask, Net *net, Tensor *packed)
{
    (void)x, (void)ids, (void)mask, (void)net, (void)packed;
}

int main(void)
{
    AgScope s = ag_begin(AG_RECORD);
    Net *net = nn_new(Net);
    nn_child(net, fc1, nn_linear_new_no_bias(2, 3));
    nn_child(net, rest, nn_sequential_new());
    nn_sequential_add(net->rest, nn_layer_norm_new(3));
    ag_fill(net->fc1->weight, 0.5);
    Tensor *packed = tensor_new_owned(SHAPE(3, 2), AG_PACKED);
    here(tensor_arange(0, 10, 1), tensor_ints(SHAPE(2, 1), (int32_t[]){ 4, -5 }), tensor_bools(AG_SCALAR, NULL), net, packed);
    tensor_free(packed);
    ag_free(net);
    ag_end(s);
    return 0;
}
