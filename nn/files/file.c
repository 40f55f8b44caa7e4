/* file.c: reads files whole, mapped and in parts, and replaces files in one step. All calls to the file system are here,
 * so that the tests can make each of them fail. */
#include "file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "system.h"

enum { MOST_AT_ONCE = 1 << 30 };            /* bytes: every system accepts this many in one read or write */
enum { WRITER_MS = 5000 };                  /* milliseconds that a reader of a FIFO waits for a program that writes it */

/* Sets the error message, with the system's reason. */
static bool system_error(const char *path, const char *what, int error)
{
    return ag_set_error("%s: %s: %s", path, what, strerror(error));
}

/* Calls read or, if offset >= 0, pread. Returns 1 to n bytes read, 0 at the end of the file, -1 on failure. */
static ssize_t read_some(int fd, void *out, size_t n, off_t offset)
{
    for (;;) {
        size_t count = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
        ssize_t got = offset < 0 ? read(fd, out, count) : pread(fd, out, count, offset);
        if (got >= 0 || errno != EINTR) return got;
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The destructor of a file, so that an error closes it. */
static void close_file(void *self)
{
    File *f = self;
    if (f->bytes && f->fd >= 0) munmap((void *)f->bytes, (size_t)f->size);
    if (f->fd >= 0) close(f->fd);
}

static File *file_new(const char *name)
{
    File *f = ag_alloc(1, sizeof *f);
    f->fd = -1;
    ag_on_free(f, close_file);
    f->name = ag_strndup_in(f, name, strlen(name));
    return f;
}

/* A regular file, or any; NULL if it cannot be opened or is not. O_NONBLOCK: a FIFO is opened without waiting for a writer. */
static File *open_kind(const char *path, bool regular)
{
    File *f = file_new(path);
    struct system_stat status;
    f->fd = system_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool good = f->fd >= 0 && system_fstat(f->fd, &status) == 0;
    if (!good) system_error(path, "cannot be opened", errno);
    else if (S_ISREG(status.st_mode)) f->size = (uint64_t)status.st_size;
    else if (regular) good = ag_set_error("%s: expected a regular file", path);
    if (good) return f;
    ag_free(f);
    return NULL;
}

bool file_exists(const char *path)
{
    struct system_stat status;
    return system_stat(path, &status) == 0;
}

char *file_read(void *owner, const char *path, size_t limit, size_t *size)
{
    File *f = open_kind(path, false);
    if (!f) return NULL;
    bool silent = poll(&(struct pollfd){ .fd = f->fd, .events = POLLIN }, 1, WRITER_MS) <= 0;
    size_t capacity = f->size < limit ? (size_t)f->size + 1 : limit, n = 0;     /* + 1: to see the end of file */
    char *text = ag_alloc_in(owner, capacity + 1, 1);
    ssize_t got = 0;
    while (n <= limit) {
        if (n == capacity) {
            size_t larger = capacity < limit / 2 ? 2 * capacity + 4096 : limit + 1;
            text = ag_resize_in(owner, text, capacity + 1, larger + 1, 1);
            capacity = larger;
        }
        got = read_some(f->fd, text + n, capacity - n, -1);
        if (got < 0 && errno == EAGAIN && fcntl(f->fd, F_SETFL, 0) == 0) continue;  /* a pipe that a program writes: wait */
        if (got <= 0) break;
        n += (size_t)got;
    }
    bool good = got < 0 ? system_error(path, "cannot be read", errno) :
                n == 0 && silent ? ag_set_error("%s: expected a regular file, or a pipe that a program writes", path) :
                n <= limit || ag_set_error("%s: expected at most %zu bytes, found more", path, limit);
    ag_free(f);
    if (!good) return NULL;
    text[n] = '\0';
    *size = n;
    return text;
}

/* Maps the content of an open file, which is not empty. */
static bool map_content(File *f)
{
    if (f->size > SIZE_MAX) return ag_set_error("%s: is too large to be mapped on this machine", f->name);
    void *map = mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (map == MAP_FAILED) return system_error(f->name, "cannot be mapped", errno);
    f->bytes = map;
    return true;
}

File *file_open(const char *path, bool map)
{
    File *f = open_kind(path, true);
    if (!f || !map || f->size == 0 || map_content(f)) return f;
    ag_free(f);
    return NULL;
}

File *file_of_bytes(const char *name, const void *bytes, size_t size)
{
    File *f = file_new(name);
    f->bytes = bytes;
    f->size = size;
    return f;
}

bool file_read_at(File *f, uint64_t offset, void *out, size_t n)
{
    if (offset > f->size || n > f->size - offset)
        return ag_set_error("%s: expected %zu bytes at offset %" PRIu64 ", found the end at %" PRIu64, f->name, n, offset,
                            f->size);
    if (f->bytes) {
        if (n) memcpy(out, f->bytes + offset, n);
        return true;
    }
    for (char *p = out; n > 0;) {
        ssize_t got = read_some(f->fd, p, n, (off_t)offset);
        if (got < 0) return system_error(f->name, "cannot be read", errno);
        if (got == 0) return ag_set_error("%s: became shorter while it was read", f->name);
        p += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

/* ---- replacing --------------------------------------------------------------------------------------------------- */

struct FileWriter {
    char *path, *target, *temporary;        /* the caller's path; the file that symbolic links lead to; target.tmp */
    int fd, lock, folder;                   /* lock: a duplicate of fd, which keeps the lock between close and rename */
    bool owns_temporary;                    /* the temporary file exists, and this writer has its lock */
    int error;                              /* errno of the first failure of file_write */
};

/* The destructor: removes the temporary file before its lock is released. */
static void abandon(void *self)
{
    FileWriter *w = self;
    if (w->owns_temporary) system_unlink(w->temporary);
    if (w->fd >= 0) close(w->fd);
    if (w->lock >= 0) close(w->lock);
    if (w->folder >= 0) close(w->folder);
}

/* Opens and locks the temporary file. The lock keeps a second program from writing the same file. The system releases the
 * lock of a program that was killed. */
static bool open_temporary(FileWriter *w)
{
    for (;;) {
        int fd = system_open(w->temporary, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (fd < 0) return system_error(w->path, "cannot be written", errno);
        struct system_stat opened, named;
        bool busy = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        bool there = system_fstat(fd, &opened) == 0 && system_stat(w->temporary, &named) == 0;
        int error = there ? ENOENT : errno;
        if (there && !busy && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
            w->fd = fd;
            w->owns_temporary = true;
            w->lock = dup(fd);
            return (w->lock >= 0 && ftruncate(fd, 0) == 0) || system_error(w->path, "cannot be written", errno);
        }
        close(fd);
        if (busy) return ag_set_error("%s: another program is writing this file", w->path);
        if (error != ENOENT) return system_error(w->path, "cannot be written", error);
        /* Another program renamed the file before this one had the lock: open the new one. */
    }
}

static bool open_folder(FileWriter *w)
{
    const char *slash = strrchr(w->target, '/');
    const char *folder = slash ? ag_strndup_in(w, w->target, (size_t)(slash - w->target) + 1) : ".";
    w->folder = system_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return w->folder >= 0 || system_error(w->path, "cannot be written: its folder", errno);
}

FileWriter *file_replace(const char *path)
{
    char behind_links[PATH_MAX];
    struct system_stat status;
    bool exists = system_stat(path, &status) == 0;
    bool good = !exists || S_ISREG(status.st_mode) || ag_set_error("%s: expected a regular file to replace", path);
    if (!good) return NULL;
    FileWriter *w = ag_alloc(1, sizeof *w);
    w->fd = w->lock = w->folder = -1;
    ag_on_free(w, abandon);
    w->path = ag_strndup_in(w, path, strlen(path));
    const char *target = exists && realpath(path, behind_links) ? behind_links : path;
    w->target = ag_strndup_in(w, target, strlen(target));
    w->temporary = text_printf(w, "%s.tmp", target);
    if (!open_folder(w) || !open_temporary(w)) {
        ag_free(w);
        return NULL;
    }
    if (exists) fchmod(w->fd, status.st_mode & 0777);
    return w;
}

void file_write(FileWriter *w, const void *bytes, size_t n)
{
    for (const char *p = bytes; n > 0 && !w->error;) {
        ssize_t wrote = write(w->fd, p, n < MOST_AT_ONCE ? n : MOST_AT_ONCE);
        if (wrote > 0) {
            p += wrote;
            n -= (size_t)wrote;
        } else if (wrote == 0 || errno != EINTR) {
            w->error = wrote == 0 ? EIO : errno;
        }
    }
}

bool file_finish(FileWriter *w)
{
    if (w->fd < 0) return !w->error;
    if (!w->error) w->error = system_sync(w->fd, false);
    if (close(w->fd) != 0 && !w->error) w->error = errno;
    w->fd = -1;
    return !w->error || system_error(w->path, "cannot be written", w->error);
}

bool file_commit(FileWriter *w)
{
    bool done = file_finish(w);
    if (done && system_rename(w->temporary, w->target) != 0) done = system_error(w->path, "cannot be replaced", errno);
    if (done) {
        w->owns_temporary = false;
        int error = system_sync(w->folder, true);
        if (error) done = system_error(w->path, "was replaced, but may not be on the disk yet", error);
    }
    ag_free(w);
    return done;
}
