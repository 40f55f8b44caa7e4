/* folder.h: a folder for a test's files, what tests of files say alike, and what the environment asks of a test. */
#ifndef KAERU_TESTS_FOLDER_H
#define KAERU_TESTS_FOLDER_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

/* For tcase_add_checked_fixture: a new folder before each test, removed with all in it afterwards. */
void folder_make(void);
void folder_remove(void);
/* Paths in it; the last eight results are valid. */
const char *in_folder(const char *name);
void folder_write(const char *name, const void *bytes, size_t size);
/* The content of a file there must be this text. */
void folder_expect(const char *name, const char *text);
/* Two files there must have the same content. */
void folder_same(const char *left, const char *right);
/* How many files and folders are in it. */
int folder_count(void);

/* The function must have succeeded; it must have refused with a message of one line that has this part. */
void expect_done(bool done);
void expect_refused(bool done, const char *part);

/* The number in an environment variable, for a more thorough run; `otherwise` if there is none. */
long from_environment(const char *name, long otherwise);

#endif
