/* sha256.c: FIPS 180-4, section 6.2. The constants are the first 32 bits of the fractions of the square roots (start) and the
 * cube roots (table) of the first primes. */
#include "sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static const uint32_t table[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t a = s[0], e = s[4];
        uint32_t t1 = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + table[i] + w[i];
        uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

Sha256 sha256_begin(void)
{
    return (Sha256){ { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 },
                     0, { 0 } };
}

void sha256_add(Sha256 *h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    while (n > 0) {
        size_t held = (size_t)(h->size % 64), taken = n < 64 - held ? n : 64 - held;
        memcpy(h->block + held, p, taken);
        h->size += taken;
        p += taken;
        n -= taken;
        if (held + taken == 64) add_block(h->state, h->block);
    }
}

/* The end of the text is a 1 bit, zeros, and the length in bits at the end of a block. */
void sha256_end(Sha256 *h, char text[65])
{
    const uint64_t bits = h->size * 8;
    const size_t held = (size_t)(h->size % 64), zeros = (held < 56 ? 56 : 120) - held;
    uint8_t end[72] = { 0x80 };
    for (size_t i = 0; i < 8; i++) end[zeros + 7 - i] = (uint8_t)(bits >> (8 * i));
    sha256_add(h, end, zeros + 8);
    for (int i = 0; i < 8; i++) snprintf(text + 8 * i, 9, "%08x", (unsigned)h->state[i]);
}

void sha256(const void *bytes, size_t n, char text[65])
{
    Sha256 h = sha256_begin();
    if (n > 0) sha256_add(&h, bytes, n);
    sha256_end(&h, text);
}
