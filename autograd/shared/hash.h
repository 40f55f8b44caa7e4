/* hash.h: a hash of bytes, which tells whether values are the same. */
#ifndef KAERU_HASH_H
#define KAERU_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Continues the hash h by a word. */
static inline uint64_t hash_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Continues the hash h by these bytes. */
static inline uint64_t hash_bytes(const void *p, size_t bytes, uint64_t h)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)p + i, bytes - i < 8 ? bytes - i : 8);
        h = hash_mix(h, word);
    }
    return h;
}

#endif
