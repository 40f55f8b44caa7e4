/* sine_of_large.h: the sine of numbers that the range reduction of vectors is not for. */
#ifndef KAERU_SINE_OF_LARGE_H
#define KAERU_SINE_OF_LARGE_H

/* The range reduction of sine and cosine in vectors is exact for |x| up to this. */
#define K_MOST_ANGLE 1e5

/* sin(x + quarters pi/2) for any other x, rounded to float once; NaN where x is infinite or NaN
 * (sine_of_large.c). */
float k_sine_of_large(float x, int quarters);

#endif
