/* file_group.c: replaces files that are only valid together, such as the weights of a model and its tokenizer. */
#include <errno.h>
#include <string.h>

#include "common.h"
#include "host.h"

static const char staging_name[] = "new.part";

FileContent file_content(const char *path)
{
    enum { LIMIT = 1 << 28, PIECE = 1 << 14 };
    FileContent c = { .bytes = NULL };
    FILE *in = host_open(path);
    if (!in && errno == ENOENT) {
        return c;
    }
    if (!in) {
        example_fail("%s: cannot be opened: %s", path, strerror(errno));
    }
    size_t room = 0, n = 0;
    do {
        c.size += n;
        if (c.size + PIECE > room) {
            c.bytes = ag_resize(c.bytes, room, 2 * room + PIECE, 1);
            room = 2 * room + PIECE;
        }
        n = host_read(c.bytes + c.size, PIECE, in);
    } while (n > 0 && c.size <= LIMIT);
    if (ferror(in)) {
        example_fail("%s: cannot be read: %s", path, strerror(errno));
    }
    if (c.size > LIMIT) {
        example_fail("%s: expected at most %d bytes, found more", path, LIMIT);
    }
    fclose(in);
    return c;
}

bool file_content_write(const FileContent *c, const char *path)
{
    KaeruWriter *out = kaeru_writer_open(path, NULL, NULL);
    if (!out) {
        return false;
    }
    fwrite(c->bytes, 1, c->size, kaeru_writer_stream(out));
    return kaeru_writer_commit(out);
}

/* Copies a file, of any size, which gets the permissions of `from`; false with ag_error() if that fails. */
static bool file_copy(const char *from, const char *to)
{
    char bytes[1 << 14];
    FILE *in = host_open(from);
    if (!in) {
        return ag_set_error("%s: cannot be opened: %s", from, strerror(errno));
    }
    KaeruWriter *out = kaeru_writer_open(to, from, NULL);
    for (size_t n; out && (n = host_read(bytes, sizeof bytes, in)) > 0; ) {
        fwrite(bytes, 1, n, kaeru_writer_stream(out));
    }
    bool read = !ferror(in);
    if (out && !read) {
        ag_set_error("%s: cannot be read: %s", from, strerror(errno));
        ag_free(out);
    }
    bool good = out && read && kaeru_writer_commit(out);
    fclose(in);
    return good;
}

char *path_in(const char *folder, const char *name)
{
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = ag_alloc(room, 1);
    snprintf(path, room, "%s%s%s", folder, *folder && folder[strlen(folder) - 1] == '/' ? "" : "/", name);
    return path;
}

/* Whether the folder of the new files is a folder there, not a link to another place, whose files would be removed. */
static bool is_own_folder(const FileGroup *g)
{
    char *found = host_full_path(g->staging), *folder = host_full_path(g->folder);
    char *expected = folder ? path_in(folder, staging_name) : NULL;
    bool own = found && expected && strcmp(found, expected) == 0 && host_is_folder(found);
    ag_free(expected);
    ag_free(folder);
    ag_free(found);
    return own;
}

char *file_group_path(const FileGroup *g, int i)
{
    return path_in(g->staging, g->names[i]);
}

/* Removes the new files, also those that a killed program has not finished: the library removes these when it begins to write
 * the same file. Other files there are the user's. */
static void clear(const FileGroup *g)
{
    for (int i = 0; i < g->n; i++) {
        char *path = file_group_path(g, i);
        remove(path);
        ag_free(kaeru_writer_open(path, NULL, NULL));
        ag_free(path);
    }
}

FileGroup file_group_begin(const char *folder, const char *const *names, int n)
{
    example_must_have_folder();
    FileGroup g = { .folder = ag_strdup(folder), .staging = path_in(folder, staging_name), .names = names, .n = n };
    for (int i = 0; i < n; i++) {
        char *path = path_in(folder, names[i]);
        example_must_be_output(path);
        ag_free(path);
    }
    int error = host_make_folder(g.staging);
    if (error && !(error == EEXIST && is_own_folder(&g))) {
        example_fail("cannot make the folder %s: %s", g.staging, strerror(error));
    }
    clear(&g);
    return g;
}

/* Moves a new file to its place. Where a link leads can be another file system: there it is copied. */
static void replace_one(const FileGroup *g, int i)
{
    char *from = file_group_path(g, i), *to = path_in(g->folder, g->names[i]);
    if (access(from, F_OK) != 0) {
        remove(to);
    } else if (host_is_link(to)) {
        if (!file_copy(from, to)) {
            example_fail("%s", ag_error());
        }
        remove(from);
    } else if (host_rename(from, to) != 0) {
        example_fail("cannot write %s: %s", to, strerror(errno));
    }
    ag_free(to);
    ag_free(from);
}

/* Gives the new files the permissions of the old ones, while these are there. */
static void keep_permissions(const FileGroup *g)
{
    for (int i = 0; i < g->n; i++) {
        char *from = file_group_path(g, i), *to = path_in(g->folder, g->names[i]);
        host_copy_permissions(to, from);
        ag_free(to);
        ag_free(from);
    }
}

void file_group_replace(FileGroup *g)
{
    example_must_have_folder();
    keep_permissions(g);
    char *first = path_in(g->folder, g->names[0]), *file = host_full_path(first);     /* a link stays */
    if (file && remove(file) != 0) {
        example_fail("cannot write %s: %s", first, strerror(errno));
    }
    for (int i = g->n - 1; i >= 0; i--) {
        replace_one(g, i);
    }
    rmdir(g->staging);
    ag_free(file);
    ag_free(first);
    ag_free(g->staging);
    ag_free(g->folder);
}

_Noreturn void file_group_fail(const FileGroup *g)
{
    clear(g);
    rmdir(g->staging);
    example_fail("%s", ag_error());
}

void file_group_remove(const char *folder, const char *const *names, int n)
{
    FileGroup g = { .folder = ag_strdup(folder), .staging = path_in(folder, staging_name), .names = names, .n = n };
    if (is_own_folder(&g)) {
        clear(&g);
        rmdir(g.staging);
    }
    for (int i = 0; i < n; i++) {
        char *path = path_in(folder, names[i]);
        remove(path);
        ag_free(path);
    }
    rmdir(folder);
    ag_free(g.staging);
    ag_free(g.folder);
}
