/* host.h: what the examples need of the system, on each of them. On Windows, the programs' manifest (common/windows.rc) makes
 * UTF-8 the encoding of paths and arguments. */
#ifndef KAERU_EXAMPLES_HOST_H
#define KAERU_EXAMPLES_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* Once at the start: the standard streams are open, and write the same bytes on each system. */
void host_begin(void);
/* Whether a terminal that moves its cursor and shows colors is at the other end. */
bool host_terminal(FILE *stream);
int  host_columns(void);                                    /* of the terminal at stdout; 0: none */
bool host_utf8(void);                                       /* whether texts are shown as UTF-8 */
/* Calls the handler when the user or the system asks the program to stop and to save its work. SIG_DFL: the
 * program ends then. */
void host_on_stop(void (*handler)(int number));

double host_memory(void);                                   /* bytes that the machine has; INFINITY: not told */
/* As getline of POSIX. */
ptrdiff_t host_read_line(char **line, size_t *capacity, FILE *from);

bool host_is_folder(const char *path);
bool host_is_file(const char *path);                        /* a regular file */
/* Makes a folder; returns 0 or errno. */
int host_make_folder(const char *path);
/* False if another program has locked this folder. Else it is locked until this program ends, even by a kill. Some file
 * systems have no locks: then there is none. */
bool host_lock_folder(const char *path);
/* False if the path now leads to another folder than the locked one, which was moved away. Always true on Windows. */
bool host_lock_holds(const char *path);
/* As fopen(path, "rb") and fread; a signal that interrupts a call is no failure. */
FILE *host_open(const char *path);
size_t host_read(void *out, size_t n, FILE *from);
/* Removes a name that is a symbolic link or one of several names of a file, before another program writes there: it would write
 * to a file that lies elsewhere. Devices stay. */
void host_remove_link(const char *path);
bool host_is_link(const char *path);                        /* a symbolic one */
void host_copy_permissions(const char *from, const char *to);           /* of a regular file, if there are both */
/* As rename of POSIX: replaces the file of that name. */
int host_rename(const char *from, const char *to);
char *host_full_path(const char *path);                     /* with errno if there is none; ag_free it */
/* The path of a file in the folder of this program; NULL on systems where programs are installed apart from their files. */
const char *host_beside_program(const char *file);

enum { HOST_SAID = 300 };
bool host_installed(const char *program);                   /* whether a folder of PATH has it */
/* Runs a program in a folder; *error becomes errno if it could not be started, else 0. Returns its exit status, and in `said`
 * the last line that it wrote on stderr. */
int host_run(const char *const argv[], const char *folder, int *error, char said[HOST_SAID]);
bool host_draws_japanese(void);                             /* false: no font has Japanese letters */

#endif
