/* scalar.h: functions of one or two doubles, with the same bits on every machine. */
#ifndef KAERU_SCALAR_H
#define KAERU_SCALAR_H

double k_exp(double x), k_log(double x), k_pow(double x, double y);
/* For |x| <= 1e8; NaN beyond. */
double k_sin(double x), k_cos(double x);

#endif
