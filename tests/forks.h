/* forks.h: whether a forked child of a process with threads can start threads here. */
#ifndef KAERU_FORKS_H
#define KAERU_FORKS_H

#include <stdbool.h>
#include <stdlib.h>

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#ifndef THREAD_SANITIZER
#define THREAD_SANITIZER 0
#endif

/* Not under ThreadSanitizer and not under qemu-user (7.2): both end such a child. KAERU_EMULATED names the emulator. */
static inline bool forks_start_threads(void)
{
    const char *emulator = getenv("KAERU_EMULATED");
    return !THREAD_SANITIZER && !(emulator && *emulator);
}

#endif
