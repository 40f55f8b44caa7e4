/* file.h: every call to the file system by which a file is read or replaced.
 *
 * What goes wrong is one line in ag_error() that names the file. Offsets are 64 bits on every machine. */
#ifndef KAERU_FILE_H
#define KAERU_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kaeru/autograd.h"
#include "region.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* All of a file (or pipe), with a NUL behind it, in memory of the region; NULL if it cannot be read or holds more than
 * `limit` bytes. */
char *file_read(Region *region, const char *path, size_t limit, size_t *size);

/* A file seen as memory. Who shortens it meanwhile ends this program: use it for files that are too large to read. */
typedef struct FileMap { AgOwned owned; const char *bytes; size_t size; } FileMap;
FileMap *file_map(const char *path);
void file_unmap(FileMap *map);                                      /* NULL is fine */

/* A file of which parts are read. */
typedef struct File File;
File *file_open(const char *path);
/* The same for bytes in memory, which must stay there. */
File *file_of_bytes(const char *name, const void *bytes, size_t size);
const char *file_name(const File *f);
uint64_t file_size(const File *f);
/* n bytes from that offset; false if they cannot be had. */
bool file_read_at(File *f, uint64_t offset, void *out, size_t n);
void file_close(File *f);                                           /* NULL is fine */

/* ---- replacing ------------------------------------------------------------------------------------------------------
 * The new content goes to PATH.tmp, is brought to the disk, and takes the old file's name in one step: whoever looks,
 * also after a kill or a power cut, sees the old file or the new one, whole. Until file_commit the old one stays as it
 * is; if anything fails, PATH.tmp is removed. One left by a kill is written over next time. */

typedef struct FileWriter FileWriter;
/* NULL if the folder cannot be written, if PATH is something else than a file, or if another program is writing it. */
FileWriter *file_replace(const char *path);
/* Failure is remembered until file_commit. */
void file_write(FileWriter *w, const void *bytes, size_t n);
/* Brings what was written to the disk, so that little is left that could fail: for several files that belong
 * together. */
bool file_finish(FileWriter *w);
/* Does so, if that was not done, and ends the writer; true if the new file is in place and on the disk. */
bool file_commit(FileWriter *w);
/* Ends the writer and leaves the old file; NULL is fine. */
void file_abandon(FileWriter *w);

#endif
