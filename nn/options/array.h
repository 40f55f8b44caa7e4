/* array.h: arrays that grow. */
#ifndef KAERU_ARRAY_H
#define KAERU_ARRAY_H

#include "kaeru/tensor.h"

/* The array, which `owner` owns (NULL: nobody), with a capacity of `needed` items or more. It is moved if its capacity is
 * smaller. NULL is an array without a capacity. */
static inline void *array_for(void *owner, void *array, size_t needed, size_t *capacity, size_t size)
{
    if (array && needed <= *capacity) return array;
    size_t larger = 2 * *capacity > needed ? 2 * *capacity : needed + 4;
    array = ag_resize_in(owner, array, *capacity, larger, size);
    *capacity = larger;
    return array;
}

#endif
