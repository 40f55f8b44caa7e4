/* file.c: reads files whole, mapped and in parts, and replaces files in one step. All calls to the file system are here,
 * so that the tests can make each of them fail. */
#include "file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "numbers.h"
#include "system.h"

enum { MOST_AT_ONCE = 1 << 30 };            /* bytes: every system accepts this many in one read or write */
enum { WRITER_MS = 5000 };                  /* milliseconds that a reader of a FIFO waits for a program that writes it */

/* Makes a call again as long as a signal interrupts it, as on FUSE and NFS any call on a file can be. */
#define UNINTERRUPTED(result, call) do (result) = (call); while ((result) < 0 && errno == EINTR)

/* Sets the error message, with the system's reason. */
static bool system_error(const char *path, const char *what, int error)
{
    return ag_set_error("%s: %s: %s", path, what, strerror(error));
}

/* Calls read or, if offset >= 0, pread. Returns 1 to n bytes read, 0 at the end of the file, -1 on failure. */
static ssize_t read_some(int fd, void *out, size_t n, off_t offset)
{
    size_t count = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
    ssize_t got;
    UNINTERRUPTED(got, offset < 0 ? read(fd, out, count) : pread(fd, out, count, offset));
    return got;
}

static int open_path(const char *path, int flags, int mode)
{
    int fd;
    UNINTERRUPTED(fd, system_open(path, flags, mode));
    return fd;
}

static bool status_of(const char *path, struct system_stat *status)
{
    int result;
    UNINTERRUPTED(result, system_stat(path, status));
    return result == 0;
}

static bool status_of_open(int fd, struct system_stat *status)
{
    int result;
    UNINTERRUPTED(result, system_fstat(fd, status));
    return result == 0;
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

/* A regular file, or any that is no device; NULL if it cannot be opened or is not. O_NONBLOCK: a FIFO is opened without
 * waiting for a writer. */
static File *open_kind(const char *path, bool regular)
{
    File *f = file_new(path);
    struct system_stat status;
    f->fd = open_path(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    bool good = f->fd >= 0 && status_of_open(f->fd, &status);
    if (!good) system_error(path, "cannot be opened", errno);
    else if (S_ISREG(status.st_mode)) f->size = (uint64_t)status.st_size;
    else if (regular) good = ag_set_error("%s: expected a regular file", path);
    else if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))            /* which may wait, or have no end */
        good = ag_set_error("%s: expected a file or a pipe, found a device", path);
    if (good) return f;
    ag_free(f);
    return NULL;
}

bool file_exists(const char *path)
{
    struct system_stat status;
    return status_of(path, &status);
}

static bool is_same(const struct system_stat *a, const struct system_stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool file_is_same(const char *a, const char *b)
{
    struct system_stat about_a, about_b;
    return status_of(a, &about_a) && status_of(b, &about_b) && is_same(&about_a, &about_b);
}

char *file_read(void *owner, const char *path, size_t limit, size_t *size)
{
    File *f = open_kind(path, false);
    if (!f) return NULL;
    int ready;
    UNINTERRUPTED(ready, poll(&(struct pollfd){ .fd = f->fd, .events = POLLIN }, 1, WRITER_MS));
    bool silent = ready <= 0;
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

bool file_read_bytes(File *f, uint64_t offset, void *out, size_t n)
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

struct KaeruFileWriter {
    char *path, *target;                    /* the caller's path; the file that symbolic links lead to */
    bool copies;                            /* the content of a shown temporary file is copied to where the path leads */
    char *folder, *temporary;               /* of the target, with its slash; the path of the temporary file */
    int fd, lock, folder_fd;                /* lock: a duplicate of fd, which keeps the lock between close and rename */
    FILE *stream;                           /* which closes fd; NULL: none */
    int mode;                               /* the permissions that the file gets; -1: those of any new file */
    bool owns_temporary;                    /* the temporary file exists */
    int error;                              /* errno of the first failure of file_write */
};

static bool cannot_write(const FileWriter *w, int error)
{
    return system_error(w->path, "cannot be written", error);
}

/* Returns 0 or errno. A close that a signal interrupts has closed the file. */
static int close_content(FileWriter *w)
{
    if (w->fd < 0) return 0;
    int result = w->stream ? fclose(w->stream) : close(w->fd);
    w->fd = -1;
    w->stream = NULL;
    return result == 0 || errno == EINTR ? 0 : errno;
}

/* The destructor: removes the temporary file before its lock is released. */
static void abandon(void *self)
{
    FileWriter *w = self;
    int result;
    if (w->owns_temporary) UNINTERRUPTED(result, system_unlink(w->temporary));
    close_content(w);
    if (w->lock >= 0) close(w->lock);
    if (w->folder_fd >= 0) close(w->folder_fd);
}

/* Locks an open file; false if another program has locked it. Some file systems have no locks: then nobody has one. */
static bool lock_file(int fd)
{
    int result;
    UNINTERRUPTED(result, flock(fd, LOCK_EX | LOCK_NB));
    return result == 0 || errno != EWOULDBLOCK;
}

/* Whether the file of that path is the open one. If not, sets errno, to ENOENT if it is another one. */
static bool is_named(int fd, const char *path)
{
    struct system_stat opened, named;
    if (!status_of_open(fd, &opened) || !status_of(path, &named)) return false;
    errno = ENOENT;
    return is_same(&opened, &named);
}

/* ---- temporary files: NAME.XXXXXXXXXXXXXXXX.tmp, with sixteen hexadecimal digits ----
 * The last eight digits are a hash of NAME and of the first eight: so no name that a user has given is taken for one of these.
 * A NAME that is too long for its folder is cut off in the temporary name, but not in the hash. */

static const char hex[] = "0123456789abcdef", ending[] = ".tmp";
enum { HALF = 8, DIGITS = 2 * HALF, MOST_NAMES = 100 };

/* The number of bytes of NAME in a temporary name: whole characters. */
static size_t kept_of(const char *name)
{
    enum { LONGEST = 255 };                                 /* bytes of a name */
    size_t n = strlen(name), most = LONGEST - 1 - DIGITS - (sizeof ending - 1);
    if (n <= most) return n;
    for (n = most; n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80; ) n--;
    return n;
}

static uint64_t hash_bytes(uint64_t h, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Writes the last eight digits of the temporary name of which these are the first eight. */
static void check_digits(const char *name, const char *digits, char check[HALF + 1])
{
    uint64_t h = hash_bytes(hash_bytes(UINT64_C(0xcbf29ce484222325), name, strlen(name)), digits, HALF);
    h = (h ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    snprintf(check, HALF + 1, "%08" PRIx32, (uint32_t)(h >> 32));
}

static const char *name_of(const FileWriter *w)
{
    return w->target + strlen(w->folder);
}

typedef struct { const FileWriter *w; bool busy; } Leftovers;

/* Looks at a name of the target's folder. A temporary file of the target that no program has locked is one that a killed
 * program has left: it is removed. Nothing is written to it, since the name can be a link or the file of somebody else. */
static void remove_leftover(void *arg, const char *name)
{
    Leftovers *l = arg;
    const char *of = name_of(l->w);
    size_t n = kept_of(of);
    char path[2 * PATH_MAX], check[HALF + 1];
    if (strncmp(name, of, n) != 0 || name[n] != '.' || strspn(name + n + 1, hex) != DIGITS ||
        strcmp(name + n + 1 + DIGITS, ending) != 0) {
        return;
    }
    check_digits(of, name + n + 1, check);
    if (memcmp(name + n + 1 + HALF, check, HALF) != 0) return;
    if (snprintf(path, sizeof path, "%s%s", l->w->folder, name) >= (int)sizeof path) return;
    int fd = open_path(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0), result;
    if (fd < 0) return;
    struct system_stat status;
    bool ours = status_of_open(fd, &status) && S_ISREG(status.st_mode);
    UNINTERRUPTED(result, ours ? flock(fd, LOCK_EX | LOCK_NB) : 0);
    if (ours && result == 0) UNINTERRUPTED(result, system_unlink(path));
    else if (ours && errno == EWOULDBLOCK) l->busy = true;
    close(fd);
}

/* The path of a temporary file that most likely does not exist: O_EXCL tells if it does. */
static char *temporary_path(const FileWriter *w)
{
    static _Atomic uint32_t count;
    struct timespec now;
    char digits[HALF + 1], check[HALF + 1];
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t h = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)(uintptr_t)w << 20 ^ (uint64_t)++count << 40;
    h = (h ^ h >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    snprintf(digits, sizeof digits, "%08" PRIx32, (uint32_t)(h >> 32));
    check_digits(name_of(w), digits, check);
    return text_printf((void *)w, "%s%.*s.%s%s%s", w->folder, (int)kept_of(name_of(w)), name_of(w), digits, check, ending);
}

/* Makes and locks the temporary file. Its lock tells other programs that this one is not dead. */
static bool make_temporary(FileWriter *w)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    for (int i = 0; i < MOST_NAMES; i++) {
        ag_free(w->temporary);
        w->temporary = temporary_path(w);
        w->fd = open_path(w->temporary, flags, w->mode < 0 ? 0666 : 0600);      /* private until it is complete */
        if (w->fd < 0 && errno == EEXIST) continue;
        if (w->fd < 0) return cannot_write(w, errno);
        w->owns_temporary = true;
        /* Another program could take it for the file of a dead one until it was locked. */
        bool locked = lock_file(w->fd);
        if (locked && is_named(w->fd, w->temporary)) {
            w->lock = dup(w->fd);
            return w->lock >= 0 || cannot_write(w, errno);
        }
        if (locked && errno != ENOENT) return cannot_write(w, errno);
        w->owns_temporary = false;                          /* the other program removes it, or has done so */
        close_content(w);
    }
    return cannot_write(w, EEXIST);
}

/* Moves a file, also if the call is interrupted after it has moved it. */
static int move_file(const FileWriter *w, const char *to)
{
    int result = system_rename(w->temporary, to);
    if (result == 0 || errno != EINTR) return result;
    UNINTERRUPTED(result, system_rename(w->temporary, to));
    return result < 0 && errno == ENOENT && is_named(w->lock, to) ? 0 : result;
}

/* ---- writers ---- */

static bool begin(FileWriter *w, const char *shown)
{
    const char *slash = strrchr(w->target, '/');
    w->folder = ag_strndup_in(w, w->target, slash ? (size_t)(slash - w->target) + 1 : 0);
    const char *folder = *w->folder ? w->folder : ".";
    w->folder_fd = open_path(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (w->folder_fd < 0) return system_error(w->path, "cannot be written: its folder", errno);
    Leftovers l = { .w = w };
    system_each_name(folder, remove_leftover, &l);
    if (l.busy) return ag_set_error("%s: another program is writing this file", w->path);
    if (!make_temporary(w)) return false;
    if (!shown) return true;
    if (move_file(w, shown) != 0) return system_error(shown, "cannot be replaced", errno);
    ag_free(w->temporary);
    w->temporary = ag_strndup_in(w, shown, strlen(shown));
    w->owns_temporary = false;              /* it is for others to read, also if this program cannot finish it */
    return true;
}

/* Sets *leads_to to the file to which the symbolic link at that path leads, whether it is there or not; to NULL if there is no
 * link. False with ag_error() if there are too many links, as of a link to itself. */
static bool follow_links(void *owner, const char *path, char **leads_to)
{
    enum { MOST_LINKS = 40 };
    char text[PATH_MAX];
    *leads_to = NULL;
    for (int i = 0; i <= MOST_LINKS; i++) {
        const char *at = *leads_to ? *leads_to : path, *slash = strrchr(at, '/');
        ssize_t n;
        UNINTERRUPTED(n, system_readlink(at, text, sizeof text - 1));
        if (n <= 0) return true;
        text[n] = '\0';
        *leads_to = text_printf(owner, "%.*s%s", *text != '/' && slash ? (int)(slash - at) + 1 : 0, at, text);
    }
    return system_error(path, "cannot be written", ELOOP);
}

FileWriter *file_replace_as(const char *path, const char *like, const char *shown)
{
    struct system_stat status, model;
    bool exists = status_of(path, &status);
    bool good = !exists || S_ISREG(status.st_mode) || ag_set_error("%s: expected a regular file to replace", path);
    if (good && like && !status_of(like, &model)) good = system_error(like, "cannot be read", errno);
    if (!good) return NULL;
    FileWriter *w = ag_alloc(1, sizeof *w);
    w->fd = w->lock = w->folder_fd = -1;
    w->mode = like ? (int)(model.st_mode & 0777) : exists ? (int)(status.st_mode & 0777) : -1;
    ag_on_free(w, abandon);
    w->path = ag_strndup_in(w, path, strlen(path));
    char *leads_to;
    if (follow_links(w, path, &leads_to)) {
        w->copies = shown && leads_to;
        w->target = leads_to && !shown ? leads_to : ag_strndup_in(w, path, strlen(path));
        if (begin(w, shown)) return w;
    }
    ag_free(w);
    return NULL;
}

FileWriter *file_replace(const char *path)
{
    return file_replace_as(path, NULL, NULL);
}

/* Writes n bytes at the end or, if offset >= 0, there. */
static void put_bytes(FileWriter *w, off_t offset, const void *bytes, size_t n)
{
    for (const char *p = bytes; n > 0 && !w->error;) {
        size_t count = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
        ssize_t wrote;
        UNINTERRUPTED(wrote, offset < 0 ? write(w->fd, p, count) : pwrite(w->fd, p, count, offset));
        if (wrote <= 0) {
            w->error = wrote == 0 ? EIO : errno;
            return;
        }
        p += wrote;
        n -= (size_t)wrote;
        if (offset >= 0) offset += wrote;
    }
}

void file_write(FileWriter *w, const void *bytes, size_t n)
{
    put_bytes(w, -1, bytes, n);
}

void file_write_bytes(FileWriter *w, uint64_t offset, const void *bytes, size_t n)
{
    put_bytes(w, (off_t)offset, bytes, n);
}

FILE *file_stream(FileWriter *w)
{
    if (!w->stream) w->stream = fdopen(w->fd, "wb");
    if (!w->stream) cannot_write(w, errno);
    return w->stream;
}

/* Writes what the stream holds. After an earlier failure it has only its error flag, without errno: writing one more byte fails
 * again and sets it. */
static int flush(FILE *stream)
{
    bool lost = ferror(stream) != 0;
    errno = 0;
    if (lost) fputc('\n', stream);
    if (fflush(stream) == 0 && !lost) return 0;
    return errno ? errno : EIO;
}

bool file_finish(FileWriter *w)
{
    if (w->fd < 0) return !w->error;
    if (w->stream && !w->error) w->error = flush(w->stream);
    if (w->mode >= 0) fchmod(w->fd, (mode_t)w->mode);       /* without it, only the owner can read the file */
    if (!w->error) w->error = system_sync(w->fd, false);
    int error = close_content(w);
    if (!w->error) w->error = error;
    return !w->error || cannot_write(w, w->error);
}

/* Writes the content of the shown file to the one that the path's link leads to, which can be on another file system. */
static bool copy_in_place(const FileWriter *w)
{
    char bytes[1 << 14];
    FileWriter *to = file_replace(w->path);
    ssize_t n = 1;
    for (off_t at = 0; to && n > 0; at += n) {
        n = read_some(w->lock, bytes, sizeof bytes, at);        /* a duplicate of fd, which is closed */
        if (n > 0) file_write(to, bytes, (size_t)n);
    }
    if (n < 0) cannot_write(w, errno);
    if (!to || n < 0) {
        ag_free(to);
        return false;
    }
    int result;
    bool done = file_commit(to);
    if (done) UNINTERRUPTED(result, system_unlink(w->temporary));
    return done;
}

static bool put_in_place(FileWriter *w)
{
    if (w->copies) return copy_in_place(w);
    if (move_file(w, w->target) != 0) return system_error(w->path, "cannot be replaced", errno);
    w->owns_temporary = false;
    return true;
}

static bool sync_folder(const FileWriter *w)
{
    int error = system_sync(w->folder_fd, true);
    return !error || system_error(w->path, "was replaced, but may not be on the disk yet", error);
}

bool file_commit(FileWriter *w)
{
    bool done = file_finish(w) && put_in_place(w) && sync_folder(w);
    ag_free(w);
    return done;
}

/* Replaces the first file. The second one is at the path `aside`, if there is one, and returns if that fails. */
static bool replace_first(FileWriter *first, const FileWriter *second, const char *aside)
{
    int result = system_sync(second->folder_fd, true);      /* a power cut, too, leaves no second file of the other kind */
    bool done = result ? system_error(second->path, "cannot be replaced", result) : put_in_place(first);
    if (!done) UNINTERRUPTED(result, system_rename(aside, second->target));
    return done;
}

bool file_commit_both(FileWriter *first, FileWriter *second)
{
    bool done = file_finish(first) && file_finish(second);
    if (done) {
        const char *aside = temporary_path(second);         /* of a killed program, the next writer removes it */
        int result;
        UNINTERRUPTED(result, system_rename(second->target, aside));
        done = result == 0 || errno == ENOENT || system_error(second->path, "cannot be replaced", errno);
        done = done && replace_first(first, second, aside);
        if (done) UNINTERRUPTED(result, system_unlink(aside));
        done = done && put_in_place(second);
        done = done && sync_folder(first) && sync_folder(second);
    }
    ag_free(first);
    ag_free(second);
    return done;
}
