/* files.c: the files that compress reads and writes. */
#include "files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/common.h"
#include "common/host.h"
#include "kaeru/text.h"

/* The ending of the file with the result, if another program has made the one that must be new. */
#define BESIDE ".part"

Bytes read_file(const char *path)
{
    Bytes b = { 0 };
    unsigned char piece[1 << 14];
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {           /* a device may have no end, a FIFO no writer */
        example_fail("%s: expected a regular file", path);
    }
    FILE *file = host_open(path);
    for (size_t n; file && (n = host_read(piece, sizeof piece, file)) > 0; ) {
        bytes_append(&b, piece, n);
    }
    if (!file || ferror(file)) {
        example_fail("%s: cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    return b;
}

char *joined(const char *path, const char *ending)
{
    size_t size = strlen(path) + strlen(ending) + 1;
    char *both = ag_alloc(size, 1);
    snprintf(both, size, "%s%s", path, ending);
    return both;
}

void check_output(const char *path, const char *input, bool overwrite)
{
    char *beside = joined(path, BESIDE);
    const char *const outputs[] = { path, beside };
    if (kaeru_text_is_same_file(path, input)) {
        example_usage_error("%s: is the file to read and cannot be the one to write", path);
    }
    for (int i = 0; i < 2 && !overwrite; i++) {
        if (access(outputs[i], F_OK) == 0) {
            example_usage_error("%s exists: expected --overwrite or the name of another file", outputs[i]);
        }
    }
    example_must_be_output(path);
    KaeruWriter *writer = kaeru_writer_open(path, NULL, NULL);
    if (!writer) {
        example_fail("%s", ag_error());
    }
    ag_free(writer);
    ag_free(beside);
}

void write_file(const char *path, const char *input, const Bytes *b, bool must_be_new)
{
    char *beside = joined(path, BESIDE);
    bool came_meanwhile = must_be_new && access(path, F_OK) == 0;
    KaeruWriter *writer = kaeru_writer_open(came_meanwhile ? beside : path, input, NULL);
    if (writer && b->n > 0) {
        fwrite(b->byte, 1, b->n, kaeru_writer_stream(writer));
    }
    if (!writer || !kaeru_writer_commit(writer)) {
        example_fail("%s", ag_error());
    }
    if (came_meanwhile) {
        example_fail("%s was made while this program ran: the result is in %s", path, beside);
    }
    ag_free(beside);
}
