/* sha256.h: what the command sha256sum prints of a file. */
#ifndef KAERU_PAGE_SHA256_H
#define KAERU_PAGE_SHA256_H

#include <stddef.h>

/* Writes 64 hexadecimal digits and a NUL. */
void sha256(const void *bytes, size_t n, char text[65]);

#endif
