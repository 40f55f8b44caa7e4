/* data_hash.c: FNV-1a of 64 bits. */
#include "data_hash.h"

uint64_t data_hash(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}
