/* sha256.h: what the command sha256sum prints of a file. */
#ifndef KAERU_EXAMPLES_SHA256_H
#define KAERU_EXAMPLES_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* Writes 64 hexadecimal digits and a NUL. */
void sha256(const void *bytes, size_t n, char text[65]);

/* The same for bytes that come in parts. */
typedef struct { uint32_t state[8]; uint64_t size; uint8_t block[64]; } Sha256;
Sha256 sha256_begin(void);
void sha256_add(Sha256 *h, const void *bytes, size_t n);
void sha256_end(Sha256 *h, char text[65]);

#endif
