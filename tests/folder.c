/* folder.c: the functions of folder.h. */
#include "folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kaeru/autograd.h"

static char folder[80];

void folder_make(void)
{
    const char *parent = getenv("TMPDIR");
    bool fits = parent && *parent == '/' && strlen(parent) < 40;
    /* Spaces and letters beyond ASCII must not matter. */
    snprintf(folder, sizeof folder, "%s/kaeru t\u00e9st \u8a66\u9a13 XXXXXX", fits ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void folder_remove(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

const char *in_folder(const char *name)
{
    static _Thread_local char path[8][144];     /* processes of a test may be threads (processes.h) */
    static _Thread_local int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

void folder_write(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(f);
    if (size) ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
}

void folder_expect(const char *name, const char *text)
{
    char found[256];
    FILE *f = fopen(in_folder(name), "rb");
    ck_assert_ptr_nonnull(f);
    found[fread(found, 1, sizeof found - 1, f)] = '\0';
    fclose(f);
    ck_assert_str_eq(found, text);
}

void folder_same(const char *left, const char *right)
{
    char command[320];
    snprintf(command, sizeof command, "cmp '%s' '%s'", in_folder(left), in_folder(right));
    ck_assert_int_eq(system(command), 0);
}

int folder_count(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *entry; (entry = readdir(d));) n += entry->d_name[0] != '.';
    closedir(d);
    return n;
}

void expect_done(bool done)
{
    ck_assert_msg(done, "%s", ag_error());
}

void expect_refused(bool done, const char *part)
{
    ck_assert_msg(!done, "not refused; expected \"%s\"", part);
    ck_assert_msg(strstr(ag_error(), part) != NULL, "refused with \"%s\", expected \"%s\"", ag_error(), part);
    ck_assert_msg(strchr(ag_error(), '\n') == NULL, "\"%s\" is more than one line", ag_error());
}

long from_environment(const char *name, long fallback)
{
    const char *text = getenv(name);
    return text ? atol(text) : fallback;
}
