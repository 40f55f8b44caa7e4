/* scratch.c: the memory of a thread that kernels compute in. The memory of a thread that ends is freed through a key of its
 * own; that of the thread that calls exit(), by a destructor. The key stays: threads of the pool may end after that. */
#include "scratch.h"
#include "system.h"

static _Thread_local struct { void *memory; size_t bytes; } mine;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

/* Other destructors of the thread may compute after this one. */
static void free_mine(void *memory)
{
    system_free(memory);
    mine.memory = NULL;
    mine.bytes = 0;
}

static void make_key(void)
{
    have_key = pthread_key_create(&key, free_mine) == 0;
}

/* Without a key the memory of a thread would be lost at its end, so none is given. */
void *k_scratch(size_t bytes)
{
    if (bytes <= mine.bytes) return mine.memory;
    pthread_once(&once, make_key);
    if (!have_key) return NULL;
    system_free(mine.memory);
    pthread_setspecific(key, NULL);
    bytes = (bytes + 4095) / 4096 * 4096;
    mine.memory = system_aligned(4096, bytes);
    if (mine.memory && pthread_setspecific(key, mine.memory) != 0) free_mine(mine.memory);
    mine.bytes = mine.memory ? bytes : 0;
    return mine.memory;
}

__attribute__((destructor)) static void free_at_exit(void)
{
    free_mine(mine.memory);
    if (have_key) pthread_setspecific(key, NULL);
}
