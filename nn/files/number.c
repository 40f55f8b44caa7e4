/* number.c: decimal to binary by whole-number arithmetic of many digits: slow (a microsecond) and plainly exact.
 *
 * A decimal is a fraction num/den of whole numbers. Shifted so that it lies in [1, 2), its bits come out one at a time:
 * subtract den if it fits, double what is left. After the 53 bits of a double the rest decides the rounding. */
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- natural numbers --------------------------------------------------------------------------------------------- */

/* Digits beyond the 800th cannot change which double is nearest, except by being there at all; so the largest number is
 * 10^1131, and 4096 bits hold it. */
enum { MAX_DIGITS = 800, LIMBS = 128 };
typedef struct { int n; uint32_t limb[LIMBS]; } Natural;        /* low limb first, no zero on top */

static void multiply_add(Natural *a, uint32_t factor, uint32_t plus)
{
    uint64_t carry = plus;
    for (int i = 0; i < a->n; i++) {
        carry += (uint64_t)a->limb[i] * factor;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) a->limb[a->n++] = (uint32_t)carry;
}

static void multiply_power_of_10(Natural *a, int power)
{
    for (; power >= 9; power -= 9) multiply_add(a, 1000000000, 0);
    for (; power > 0; power--) multiply_add(a, 10, 0);
}

static void shift_left(Natural *a, int bits)
{
    int limbs = bits / 32;
    for (int i = a->n - 1; i >= 0 && limbs; i--) a->limb[i + limbs] = a->limb[i];
    memset(a->limb, 0, (size_t)limbs * sizeof *a->limb);
    a->n += limbs;
    multiply_add(a, (uint32_t)1 << bits % 32, 0);
}

static int bit_length(const Natural *a)
{
    int bits = a->n * 32;
    for (uint32_t top = a->limb[a->n - 1]; !(top >> 31); top <<= 1) bits--;
    return bits;
}

static int compare(const Natural *a, const Natural *b)
{
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void subtract(Natural *a, const Natural *b)             /* a >= b */
{
    uint32_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        uint64_t take = (uint64_t)(i < b->n ? b->limb[i] : 0) + borrow;
        borrow = a->limb[i] < take;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->n > 0 && a->limb[a->n - 1] == 0) a->n--;
}

/* ---- decimal to double ------------------------------------------------------------------------------------------- */

/* The double nearest to digits * 10^power; digits is not 0 and is used up. */
static double nearest(Natural *num, int power)
{
    Natural den = { 1, { 1 } };
    multiply_power_of_10(power < 0 ? &den : num, power < 0 ? -power : power);
    int exponent = bit_length(num) - bit_length(&den);
    if (exponent > 0) shift_left(&den, exponent);
    else shift_left(num, -exponent);
    if (compare(num, &den) < 0) {
        shift_left(num, 1);
        exponent--;
    }
    /* the number is num/den * 2^exponent with 1 <= num/den < 2; below 2^-1022 doubles have fewer bits */
    int bits = exponent >= -1022 ? 53 : 53 + 1022 + exponent;
    if (bits < 0) return 0.0;
    uint64_t q = 0;
    for (int i = 0; i < bits; i++) {
        q <<= 1;
        if (compare(num, &den) >= 0) {
            subtract(num, &den);
            q |= 1;
        }
        shift_left(num, 1);
    }
    int half = compare(num, &den);
    if (half > 0 || (half == 0 && (q & 1))) q++;
    return ldexp((double)q, exponent - bits + 1);
}

static bool is_digit(const char *s, size_t n, size_t i)
{
    return i < n && s[i] >= '0' && s[i] <= '9';
}

size_t number_scan(const char *s, size_t n, Number *number, size_t *wrong)
{
    size_t i = 0, first, point, end;
    bool negative = n > 0 && s[0] == '-';
    i += negative;
    first = i;
    *wrong = i;
    if (!is_digit(s, n, i)) return 0;
    if (s[i] == '0') i++;
    else while (is_digit(s, n, i)) i++;
    point = end = i;
    if (i < n && s[i] == '.') {
        *wrong = ++i;
        if (!is_digit(s, n, i)) return 0;
        while (is_digit(s, n, i)) i++;
        end = i;
    }
    int64_t power = 0;
    bool has_exponent = i < n && (s[i] == 'e' || s[i] == 'E');
    if (has_exponent) {
        i++;
        bool down = i < n && s[i] == '-';
        if (i < n && (s[i] == '-' || s[i] == '+')) i++;
        *wrong = i;
        if (!is_digit(s, n, i)) return 0;
        for (; is_digit(s, n, i); i++)
            if (power < (int64_t)1 << 40) power = power * 10 + (s[i] - '0');
        if (down) power = -power;
    }

    Natural digits = { 0, { 0 } };
    int count = 0;
    bool more = false;
    uint64_t small = 0;
    bool fits = true;
    for (size_t k = first; k < end; k++) {
        if (k == point) continue;
        uint32_t d = (uint32_t)(s[k] - '0');
        if (small > (UINT64_MAX - d) / 10) fits = false;
        else small = small * 10 + d;
        if (k > point) power--;
        if (count == 0 && d == 0) continue;
        if (count < MAX_DIGITS) {
            multiply_add(&digits, 10, d);
            count++;
        } else {
            more = more || d;
            power++;
        }
    }
    if (more) {                         /* not exactly these 800 digits, but a little more */
        multiply_add(&digits, 10, 1);
        power--;
    }
    double value = 0.0;
    if (count > 0 && count + power > 310) value = HUGE_VAL;
    else if (fits && power == 0 && small <= (uint64_t)1 << 53) value = (double)small;       /* a double as it is */
    else if (count > 0 && count + power > -330) value = nearest(&digits, (int)power);

    uint64_t limit = (uint64_t)INT64_MAX + negative;
    number->whole = end == point && !has_exponent && fits && small <= limit && !(negative && small == 0);
    number->integer = !number->whole ? 0 : negative ? (int64_t)(0 - small) : (int64_t)small;
    number->value = negative ? -value : value;
    return i;
}

/* ---- double to decimal ------------------------------------------------------------------------------------------- */

char *number_text(double value, char text[NUMBER_TEXT])
{
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, NUMBER_TEXT, "%.*g", precision, value);
        size_t n = strspn(text, "-0123456789"), point = strcspn(text + n, "0123456789e");
        if (point > 0) {                /* the locale's decimal point, of any length */
            memmove(text + n + 1, text + n + point, strlen(text + n + point) + 1);
            text[n] = '.';
        }
        Number back;
        size_t wrong;
        if (number_scan(text, strlen(text), &back, &wrong) && back.value == value) break;
    }
    return text;
}
