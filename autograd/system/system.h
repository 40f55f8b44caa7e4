/* system.h: what differs between systems. The library is written for POSIX, and no other file asks which system it is on.
 * windows.c has what Windows lacks of POSIX, or has with another meaning. */
#ifndef KAERU_SYSTEM_H
#define KAERU_SYSTEM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#endif

/* ---- memory ------------------------------------------------------------------------------------------------------- */

/* Memory of the system, aligned to 64 bytes; NULL if it cannot be allocated. */
void *system_alloc(size_t bytes);
void *system_zeroed(size_t bytes);                                  /* zeroed, and aligned as by calloc */
void *system_aligned(size_t alignment, size_t bytes);               /* bytes: a multiple of the alignment; not counted */
void  system_free(void *p);
/* Releases such memory after its first bytes, which stay where they are; where that is not possible, all of it, and false. */
bool  system_shrink(void *p, size_t bytes);
int64_t system_calls(void);                                         /* how many allocations this thread has made */
/* Returns the pages that lie in this memory to the system, on Linux. They become zeros. */
void system_return_pages(void *p, size_t bytes);
double system_free_memory(void);                                    /* bytes that a program can still get; -1: not told */
/* Marks memory that must not be touched, for AddressSanitizer to report a use; does nothing in other builds. */
#ifdef HAVE_ASAN
static inline void memory_poison(void *p, size_t bytes) { ASAN_POISON_MEMORY_REGION(p, bytes); }
static inline void memory_unpoison(void *p, size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(p, bytes); }
#else
static inline void memory_poison(void *p, size_t bytes) { (void)p, (void)bytes; }
static inline void memory_unpoison(void *p, size_t bytes) { (void)p, (void)bytes; }
#endif

/* ---- threads ------------------------------------------------------------------------------------------------------ */

int  system_processors(void);                                       /* that this process may use */
/* Starts a thread that blocks all signals: the program's own threads get them. */
bool system_start_thread(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *arg);
/* What a fork calls before it, and after it in both processes. */
void system_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));
/* Asks for AMX's registers; false if the system does not give them. */
bool system_allow_amx(void);

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

/* The thread writes and reads numbers with a decimal point, until the former locale is restored; NULL: no memory. */
void *system_use_c_locale(void);
void  system_restore_locale(void *former);

/* ---- files -------------------------------------------------------------------------------------------------------- */

/* Syncs a file or folder to the disk; returns 0 or errno. */
int system_sync(int fd, bool folder);
/* Calls `each` for the names in a folder, which it may remove. None, if the folder cannot be read. */
void system_each_name(const char *folder, void (*each)(void *arg, const char *name), void *arg);

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Paths are UTF-8. Files are open for all to read, write, rename and remove. */
enum { O_CLOEXEC = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 1 << 28 };
enum { LOCK_EX = 2, LOCK_NB = 4, PROT_READ = 1, MAP_PRIVATE = 2, POLLIN = 1, F_SETFL = 4 };
#define MAP_FAILED ((void *)-1)
struct system_stat { unsigned st_mode; int64_t st_size; uint64_t st_ino, st_dev; };
struct pollfd { int fd; short events; };
int   system_stat(const char *path, struct system_stat *status);
int   system_fstat(int fd, struct system_stat *status);
int   system_open(const char *path, int flags, ...);
int   system_rename(const char *from, const char *to);              /* replaces `to`, unless that is mapped */
int   system_unlink(const char *path);
int   flock(int fd, int how);                                       /* of a folder: until the program ends */
void *mmap(void *at, size_t n, int access, int flags, int fd, off64_t offset);
int   munmap(void *p, size_t n);
ssize_t pread(int fd, void *out, size_t n, off64_t offset);
ssize_t pwrite(int fd, const void *bytes, size_t n, off64_t offset);
ssize_t system_readlink(const char *path, char *out, size_t n);     /* what a link leads to; -1: the path is no link */
static inline int fchmod(int fd, int mode)                    { return (void)fd, (void)mode, 0; }
static inline int fcntl(int fd, int what, int value)          { return (void)fd, (void)what, (void)value, 0; }
static inline int poll(struct pollfd *fds, int n, int ms)     { return (void)fds, (void)ms, n; }       /* a read waits */
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef __wasi__                /* which has no such files */
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#endif
#define system_stat stat
#define system_fstat fstat
#define system_open open
#define system_rename rename
#define system_unlink unlink
#define system_readlink readlink
#endif

#endif
