/* writer.c: files that programs write, by a stream. */
#include "file.h"
#include "kaeru/text.h"

KaeruWriter *kaeru_writer_open(const char *path, const char *like, const char *shown)
{
    AG_LAYER;
    ag_check_pointer(__func__, "path", path);
    FileWriter *w = file_replace_as(path, like, shown);
    if (w && file_stream(w)) return w;
    ag_free(w);
    return NULL;
}

FILE *kaeru_writer_stream(KaeruWriter *w)
{
    ag_check_object(__func__, "w", w);
    return file_stream(w);
}

bool kaeru_writer_commit(KaeruWriter *w)
{
    AG_LAYER;
    ag_check_object(__func__, "w", w);
    return file_commit(w);
}
