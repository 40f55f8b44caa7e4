/* files.c: the files that compress reads and writes. */
#include "files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/common.h"
#include "common/host.h"
#include "kaeru/text.h"

Bytes read_file(const char *path)
{
    Bytes b = { 0 };
    unsigned char piece[1 << 14];
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {           /* a device may have no end, a FIFO no writer */
        example_fail("%s: expected a regular file", path);
    }
    FILE *file = fopen(path, "rb");
    for (size_t n; file && (n = fread(piece, 1, sizeof piece, file)) > 0; ) {
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
    char *part = joined(path, ".part");
    const char *const outputs[] = { path, part };
    for (int i = 0; i < 2; i++) {
        if (kaeru_text_is_same_file(outputs[i], input)) {
            example_usage_error("%s: is the file to read and cannot be the one to write", outputs[i]);
        }
        if (!overwrite && access(outputs[i], F_OK) == 0) {
            example_usage_error("%s exists: expected --overwrite or the name of another file", outputs[i]);
        }
    }
    example_must_be_output(path);
    example_close(example_create(part), part);
    remove(part);
    ag_free(part);
}

void write_file(const char *path, const Bytes *b, bool must_be_new)
{
    char *part = joined(path, ".part");
    FILE *file = example_create(part);
    bool good = (b->n == 0 || fwrite(b->byte, 1, b->n, file) == b->n) && host_sync(file) == 0;
    int error = errno;
    if (fclose(file) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && must_be_new && access(path, F_OK) == 0) {
        example_fail("%s was made while this program ran: the result is in %s", path, part);
    }
    if (!good || host_rename(part, path) != 0) {
        error = good ? errno : error;
        remove(part);
        example_fail("cannot write %s: %s", path, strerror(error));
    }
    ag_free(part);
}
