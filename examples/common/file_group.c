/* file_group.c: replaces files that are only valid together, such as the weights of a model and its tokenizer. */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "common.h"
#include "host.h"

static const char staging_name[] = "new.part";

char *path_in(const char *folder, const char *name)
{
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = ag_alloc(room, 1);
    snprintf(path, room, "%s/%s", folder, name);
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

/* Whether a name is one of the group or its temporary file NAME.XXXXXXXX.tmp, with eight hexadecimal digits. */
static bool is_of_group(const FileGroup *g, const char *name)
{
    enum { DIGITS = 8 };
    for (int i = 0; i < g->n; i++) {
        size_t n = strlen(g->names[i]);
        const char *rest = name + n;
        if (strncmp(name, g->names[i], n) == 0 &&
            (*rest == '\0' || (*rest == '.' && strspn(rest + 1, "0123456789abcdef") == DIGITS &&
                               strcmp(rest + 1 + DIGITS, ".tmp") == 0))) {
            return true;
        }
    }
    return false;
}

/* Removes the new files, also those that a killed program has not finished. Other files there are the user's. */
static void clear(const FileGroup *g)
{
    DIR *folder = opendir(g->staging);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        if (is_of_group(g, entry->d_name)) {
            char *path = path_in(g->staging, entry->d_name);
            remove(path);
            ag_free(path);
        }
    }
    if (folder) {
        closedir(folder);
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

static void replace_one(const FileGroup *g, int i)
{
    char *from = file_group_path(g, i), *to = path_in(g->folder, g->names[i]);
    if (access(from, F_OK) != 0) {
        remove(to);
    } else if (host_rename(from, to) != 0) {
        example_fail("cannot write %s: %s", to, strerror(errno));
    }
    ag_free(to);
    ag_free(from);
}

void file_group_replace(FileGroup *g)
{
    example_must_have_folder();
    char *first = path_in(g->folder, g->names[0]);
    if (remove(first) != 0 && errno != ENOENT) {
        example_fail("cannot write %s: %s", first, strerror(errno));
    }
    for (int i = g->n - 1; i >= 0; i--) {
        replace_one(g, i);
    }
    rmdir(g->staging);
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
