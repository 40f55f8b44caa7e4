/* file.h: reads files and replaces them. Every call to the file system is here.
 *
 * A function that fails sets ag_error() to one line that names the file. Offsets have 64 bits on every machine. */
#ifndef KAERU_FILE_H
#define KAERU_FILE_H

#include <stdio.h>

#include "kaeru/tensor.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The content of a file (or pipe), followed by a NUL, owned by `owner`; NULL if it cannot be read or has more than
 * `limit` bytes, or if it is a device or a FIFO that no program writes (within five seconds). The other functions take
 * regular files. */
char *file_read(void *owner, const char *path, size_t limit, size_t *size);

/* Whether there is a file or a folder of that name. */
bool file_exists(const char *path);

/* Whether two paths lead to the same file; false if one of them does not exist. */
bool file_is_same(const char *a, const char *b);

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
bool file_read_bytes(File *f, uint64_t offset, void *out, size_t n);

/* ---- replacing ------------------------------------------------------------------------------------------------------
 * Every file that the library and its programs write is made here. The new content is written to a temporary file in the same
 * folder, which is new (O_EXCL) and has a name of its own, PATH.XXXXXXXXXXXXXXXX.tmp; it is synced to the disk, and renamed to
 * PATH.
 * So a reader sees either the complete old file or the complete new one, even after a kill or a power cut; no link leads the
 * bytes elsewhere; and no other file is changed. Until file_commit the old file is unchanged; if anything fails, the temporary
 * file is removed. One that a killed program left is removed by the next program that writes PATH: the system has released
 * its lock. Where files have no locks, it stays. Sixteen hexadecimal digits are in its name, of which eight are a hash of the
 * others and of PATH: a user's file is not taken for one. A PATH that is a symbolic link stays: the file that it leads to is
 * replaced, or made; a link that leads to itself is an error.
 *
 * The file gets the permissions of the one that it replaces; one that is new, those of any new file. Two programs: the second
 * one is refused. If both begin in the same moment, each file is complete, and the later one stays. */

typedef struct KaeruFileWriter FileWriter;
/* NULL if the folder cannot be written, if PATH is not a regular file, or if another program is writing it. */
FileWriter *file_replace(const char *path);
/* The same. `like`: the path of a file of which it gets the permissions; NULL: none. `shown`: the path in the same folder
 * that the temporary file gets from the beginning, for others to read: what had this name is replaced, a link as well. A kill,
 * and an error, leave it. NULL: none. */
FileWriter *file_replace_as(const char *path, const char *like, const char *shown);
/* A failure is reported by file_finish or file_commit. */
void file_write(FileWriter *w, const void *bytes, size_t n);
/* Writes over bytes that were written. */
void file_write_bytes(FileWriter *w, uint64_t offset, const void *bytes, size_t n);
/* A stream that writes to the file, in place of file_write; it stays the writer's. NULL if there is no memory for it. */
FILE *file_stream(FileWriter *w);
/* Syncs what was written to the disk, so that little can still fail: call it on each of several files that belong
 * together before the first file_commit. */
bool file_finish(FileWriter *w);
/* Calls file_finish if that was not done, renames, and frees the writer; true if the new file is in place and on disk. */
bool file_commit(FileWriter *w);
/* The same for two files of which the second is read only with the first. The old second file is moved away before the first
 * is replaced, and removed: a kill leaves both old files, both new ones, or no second one, but never files of both kinds. If
 * the first file cannot be replaced, both old ones stay. */
bool file_commit_both(FileWriter *first, FileWriter *second);

#endif
