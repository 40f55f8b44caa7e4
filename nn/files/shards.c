/* shards.c: a model in several safetensors files. The index is {"weight_map": {"NAME": "FILE", ...}, ...}; the files are in its
 * folder. It must name each tensor of these files: some readers of this layout skip the others, some read them. */
#include <string.h>

#include "json.h"
#include "safetensors.h"
#include "utf8.h"

enum { MAX_INDEX = 100000000 };             /* bytes */

/* The files that were opened. */
typedef struct { const char **name; SafeTensors **st; size_t n; } Shards;

/* The file of that name in the index's folder, opened the first time. NULL with ag_error() if it cannot be. */
static SafeTensors *shard_of(SafeTensors *st, Shards *s, const char *name, bool map)
{
    for (size_t i = s->n; i > 0; i--)                               /* neighbors in the index are often in one file */
        if (strcmp(s->name[i - 1], name) == 0) return s->st[i - 1];
    const char *index = file_name(st->file), *slash = strrchr(index, '/');
    char *folder = ag_strndup_in(st, index, slash ? (size_t)(slash - index) + 1 : 0), *path = st_join(st, folder, name);
    SafeTensors *shard = st_new(map ? file_open_map(path) : file_open(path), st_read_file);
    if (!shard) return NULL;
    ag_set_owner(shard, st);
    s->name[s->n] = name;
    s->st[s->n++] = shard;
    st->n_tensors += shard->n_tensors;
    return shard;
}

/* Whether it can be the name of a file in the index's folder, and part of a message of one line. */
static bool is_file_name(const Json *value)
{
    if (value->type != JSON_STRING || value->count == 0) return false;
    for (const char *p = value->as.text, *end = p + value->count; p < end; p++)
        if (*p == '/' || (unsigned char)*p < 0x20) return false;
    return true;
}

static bool read_index(SafeTensors *st, bool map)
{
    const char *index = file_name(st->file);
    const Json *root = json_read(st, index, MAX_INDEX), *names = json_get(root, "weight_map");
    if (!root) return false;
    if (!names || names->type != JSON_OBJECT)
        return ag_set_error("%s: expected an object as weight_map, found %s", index, json_type_name(names));
    Shards s = { ag_alloc_in(st, names->count, sizeof *s.name), ag_alloc_in(st, names->count, sizeof(SafeTensors *)), 0 };
    for (uint32_t i = 0; i < names->count; i++) {
        const Json *name = &names->as.item[2 * i], *file = name + 1;
        char quoted[UTF8_QUOTE];
        if (!is_file_name(file))
            return st_tensor_error(st->file, name->as.text, "expected the name of a file in the same folder");
        SafeTensors *shard = shard_of(st, &s, file->as.text, map);
        if (!shard) return false;
        if (!st_find(shard, name->as.text)) {
            return st_tensor_error(st->file, name->as.text, "is not in %s",
                                   utf8_quote(file->as.text, file->count, quoted));
        }
    }
    st->tensor = ag_alloc_in(st, st->n_tensors, sizeof *st->tensor);
    StTensor *next = st->tensor;
    for (size_t i = 0; i < s.n; i++) {
        for (size_t k = 0; k < s.st[i]->n_tensors; k++) {
            const StTensor *t = &s.st[i]->tensor[k];
            if (!json_get(names, t->name)) return st_tensor_error(t->file, t->name, "is not in the index %s", index);
            *next++ = *t;
        }
    }
    return st_sort_names(st);
}

SafeTensors *st_open_index(const char *path, bool map)
{
    SafeTensors *st = ag_object_new(sizeof *st);
    st->file = file_of_bytes(path, "", 0);
    ag_set_owner(st->file, st);
    if (read_index(st, map)) return st;
    st_close(st);
    return NULL;
}
