/* adapter.h: what another file may add to Linears. */
#ifndef KAERU_ADAPTER_H
#define KAERU_ADAPTER_H

#include "kaeru/nn.h"

typedef struct {
    /* y = x W^T + b with what the adapter of l adds. Called if l->lora_dropout is not NULL. */
    Tensor *(*forward)(Linear *l, Tensor *x, Tensor *y);
    bool (*is_part)(const NnNamedTensor *p);            /* whether this is a parameter of an adapter */
} LinearAdapter;
/* It is set before main. NULL: Linears have no adapters. */
extern const LinearAdapter *linear_adapter;

/* Whether this is a parameter of an adapter. */
bool adapter_has(const NnNamedTensor *p);
/* Freezes what is not part of an adapter. */
void freeze_all_but_adapters(const NnParameters *p);

#endif
