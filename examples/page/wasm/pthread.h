/* pthread.h: what the library uses of threads, for a program with one thread: WebAssembly as Debian's clang makes it. */
#ifndef KAERU_PAGE_PTHREAD_H
#define KAERU_PAGE_PTHREAD_H

typedef int pthread_t, pthread_mutex_t, pthread_once_t, pthread_key_t;
#define PTHREAD_MUTEX_INITIALIZER 0
#define PTHREAD_ONCE_INIT 0

static inline int pthread_mutex_lock(pthread_mutex_t *lock)   { (void)lock; return 0; }
static inline int pthread_mutex_unlock(pthread_mutex_t *lock) { (void)lock; return 0; }

static inline int pthread_once(pthread_once_t *once, void (*f)(void))
{
    if (!*once) {
        *once = 1;
        f();
    }
    return 0;
}

/* The one thread never ends, so nothing is ever destroyed. */
static inline int pthread_key_create(pthread_key_t *key, void (*destroy)(void *)) { (void)destroy; *key = 0; return 0; }
static inline int pthread_setspecific(pthread_key_t key, const void *value) { (void)key; (void)value; return 0; }

#endif
