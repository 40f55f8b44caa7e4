/* writer.c: files that programs write, by a stream. */
#include "file.h"
#include "kaeru/text.h"

KaeruWriter *kaeru_writer_open_at(AgSite at, const char *path, const char *like, const char *shown)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "path", path);
    FileWriter *w = file_replace_as(path, like, shown);
    if (w && file_stream(w)) return w;
    ag_free(w);
    return NULL;
}

FILE *kaeru_writer_stream_at(AgSite at, KaeruWriter *w)
{
    ag_check_object_at(at, __func__, "w", w);
    return file_stream(w);
}

bool kaeru_writer_commit_at(AgSite at, KaeruWriter *w)
{
    AG_LAYER(at);
    ag_check_object_at(at, __func__, "w", w);
    return file_commit(w);
}
