/* files.c: files in memory, in place of nn/files/file.c: a page has no disk. A file lives until another one of its name is
 * written. What the page does not call is not here. */
#include "file.h"

#include <string.h>

#include "memory_files.h"

enum { MOST_FILES = 8, MOST_BYTES = 1 << 24 };
typedef struct { char *name; char *bytes; size_t size; } MemoryFile;
struct KaeruFileWriter { char *name; char *bytes; size_t size, room; bool failed; };

static MemoryFile folder[MOST_FILES];

static MemoryFile *find(const char *name)
{
    for (int i = 0; i < MOST_FILES; i++)
        if (folder[i].name && strcmp(folder[i].name, name) == 0)
            return &folder[i];
    return NULL;
}

const void *memory_file(const char *name, size_t *size)
{
    MemoryFile *f = find(name);
    *size = f ? f->size : 0;
    return f ? f->bytes : NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool file_exists(const char *path) { return find(path) != NULL; }

File *file_of_bytes(const char *name, const void *bytes, size_t size)
{
    File *f = ag_alloc(1, sizeof *f);
    f->name = ag_strndup_in(f, name, strlen(name));
    f->bytes = bytes;
    f->size = size;
    return f;
}

File *file_open(const char *path, bool map)
{
    (void)map;
    MemoryFile *f = find(path);
    if (f)
        return file_of_bytes(path, f->bytes, f->size);
    ag_set_error("cannot open %s: there is no such file in memory", path);
    return NULL;
}

bool file_read_bytes(File *f, uint64_t offset, void *out, size_t n)
{
    if (offset > f->size || n > f->size - offset)
        return ag_set_error("cannot read %s: it ends too early", f->name);
    memcpy(out, f->bytes + offset, n);
    return true;
}

char *file_read(void *owner, const char *path, size_t limit, size_t *size)
{
    MemoryFile *f = find(path);
    if (!f || f->size > limit) {
        ag_set_error("cannot read %s", path);
        return NULL;
    }
    *size = f->size;
    return ag_strndup_in(owner, f->bytes, f->size);
}

/* ---- replacing --------------------------------------------------------------------------------------------------- */

FileWriter *file_replace(const char *path)
{
    FileWriter *w = ag_alloc(1, sizeof *w);
    w->name = ag_strndup_in(w, path, strlen(path));
    return w;
}

void file_write(FileWriter *w, const void *bytes, size_t n)
{
    if (n > MOST_BYTES - w->size) {
        w->failed = true;
        return;
    }
    if (w->size + n > w->room) {
        size_t room = 2 * (w->size + n);
        w->bytes = ag_resize_in(w, w->bytes, w->room, room, 1);
        w->room = room;
    }
    memcpy(w->bytes + w->size, bytes, n);
    w->size += n;
}

void file_write_bytes(FileWriter *w, uint64_t offset, const void *bytes, size_t n)
{
    if (!w->failed)
        memcpy(w->bytes + offset, bytes, n);
}

bool file_finish(FileWriter *w)
{
    return !w->failed || ag_set_error("cannot write %s: it is too large", w->name);
}

bool file_commit(FileWriter *w)
{
    MemoryFile *f = find(w->name);
    for (int i = 0; i < MOST_FILES && !f; i++)
        if (!folder[i].name)
            f = &folder[i];
    bool good = file_finish(w) && (f || ag_set_error("cannot write %s: too many files", w->name));
    if (good) {
        ag_free(f->name);
        ag_free(f->bytes);
        *f = (MemoryFile){ w->name, w->bytes, w->size };
        ag_set_owner(w->name, NULL);
        ag_set_owner(w->bytes, NULL);
    }
    ag_free(w);
    return good;
}

/* Nothing ends the program between the two. */
bool file_commit_both(FileWriter *first, FileWriter *second)
{
    bool good = file_finish(first) && file_finish(second);
    if (!good) {
        ag_free(first);
        ag_free(second);
        return false;
    }
    good = file_commit(first);
    return file_commit(second) && good;
}
