/* data_hash.h: a hash to recognize bytes. */
#ifndef KAERU_EXAMPLES_DATA_HASH_H
#define KAERU_EXAMPLES_DATA_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Of n bytes after those that have led to `hash`, which is DATA_HASH_BEGIN at first. */
#define DATA_HASH_BEGIN UINT64_C(0xcbf29ce484222325)
uint64_t data_hash(uint64_t hash, const void *bytes, size_t n);

#endif
