/* file.h: reads files and replaces them. Every call to the file system is here.
 *
 * A function that fails sets ag_error() to one line that names the file. Offsets have 64 bits on every machine. */
#ifndef KAERU_FILE_H
#define KAERU_FILE_H

#include "kaeru/tensor.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The content of a file (or pipe), followed by a NUL, owned by `owner`; NULL if it cannot be read or has more than
 * `limit` bytes, or if it is a FIFO that no program writes (within five seconds). The other functions take regular files. */
char *file_read(void *owner, const char *path, size_t limit, size_t *size);

/* Whether there is a file or a folder of that name. */
bool file_exists(const char *path);

/* An open file. ag_free closes it. */
typedef struct KaeruFile {
    const char *name;                       /* for messages: the path */
    const char *bytes;                      /* its content, if that is in memory or mapped; else NULL */
    uint64_t size;
    int fd;                                 /* -1: none */
} File;

/* A regular file, to read it in parts; map: it is mapped into memory instead. If the file is truncated while it is mapped,
 * reading it stops this program with SIGBUS: use a map for files that are too large to read. */
File *file_open(const char *path, bool map);
/* Bytes in memory as a file. They must stay valid until it is freed. */
File *file_of_bytes(const char *name, const void *bytes, size_t size);
/* Reads n bytes from that offset; false if that fails. */
bool file_read_at(File *f, uint64_t offset, void *out, size_t n);

/* ---- replacing ------------------------------------------------------------------------------------------------------
 * The new content is written to PATH.tmp, synced to the disk, and renamed to PATH. So a reader sees either the complete
 * old file or the complete new one, even after a kill or a power cut. Until file_commit the old file is unchanged; if
 * anything fails, PATH.tmp is removed. A PATH.tmp that a killed program left is overwritten next time. ag_free of a writer
 * leaves the old file. */

typedef struct FileWriter FileWriter;
/* NULL if the folder cannot be written, if PATH is not a regular file, or if another program is writing it. */
FileWriter *file_replace(const char *path);
/* A failure is reported by file_finish or file_commit. */
void file_write(FileWriter *w, const void *bytes, size_t n);
/* Syncs what was written to the disk, so that little can still fail: call it on each of several files that belong
 * together before the first file_commit. */
bool file_finish(FileWriter *w);
/* Calls file_finish if that was not done, renames, and frees the writer; true if the new file is in place and on disk. */
bool file_commit(FileWriter *w);

#endif
