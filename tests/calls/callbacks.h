/* callbacks.h: the functions of a program that the library calls. */
#ifndef KAERU_TESTS_CALLBACKS_H
#define KAERU_TESTS_CALLBACKS_H

/* run: a call of the library that calls the function, which calls `inside`. */
typedef struct { const char *name; void (*run)(void); } Callback;
extern const Callback callbacks[];      /* ends with NULL */

/* Makes the call that is tested, the first time. */
void inside(void);

#endif
