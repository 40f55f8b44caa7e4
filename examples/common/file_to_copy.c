/* file_to_copy.c: reads a file of a folder that may be anybody's, to copy it. */
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "host.h"

/* Whether a path begins with that folder. */
static bool is_below(const char *path, const char *below, size_t n)
{
    return strncmp(path, below, n) == 0 && (path[n] == '/' || path[n] == '\\');
}

/* The length of a path of n bytes without its last name. */
static size_t parent_length(const char *path, size_t n)
{
    while (n > 0 && path[--n] != '/') {
    }
    return n;
}

/* Whether a file lies in the blobs of the snapshot `below`, as in the cache of Hugging Face's library: the snapshot is
 * models--NAME/snapshots/REVISION, and its files are links to models--NAME/blobs/FILE. Both paths have no links. */
static bool is_blob(const char *file, const char *below)
{
    static const char snapshots[] = "/snapshots/", blobs[] = "/blobs/", prefix[] = "/models--";
    size_t list = parent_length(below, strlen(below)), model = parent_length(below, list);
    size_t cache = parent_length(below, model), n = model + sizeof blobs - 1;
    return strncmp(below + cache, prefix, sizeof prefix - 1) == 0 && list - model == sizeof snapshots - 2 &&
           strncmp(below + model, snapshots, sizeof snapshots - 1) == 0 && strncmp(file, below, model) == 0 &&
           strncmp(file + model, blobs, sizeof blobs - 1) == 0 && parent_length(file, strlen(file)) == n - 1;
}

FileContent file_to_copy(const char *folder, const char *name, const char *or)
{
    char *from = path_in(folder, name), *file = host_full_path(from), *below = host_full_path(folder);
    /* a FIFO would be read without end */
    if (access(from, F_OK) == 0 && !host_is_file(from)) {
        example_fail("%s: expected a regular file, which is copied%s", from, or);
    }
    if (file && below && !is_below(file, below, strlen(below)) && !is_blob(file, below)) {
        example_fail("%s: is a link to %s, outside of --model, and would be copied: expected the file itself there%s", from,
                     file, or);
    }
    FileContent c = file_content(from);
    ag_free(below);
    ag_free(file);
    ag_free(from);
    return c;
}
