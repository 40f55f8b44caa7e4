/* folder.h: a temporary folder for a test's files, assertions about files, and settings from the environment. */
#ifndef KAERU_TESTS_FOLDER_H
#define KAERU_TESTS_FOLDER_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

/* For tcase_add_checked_fixture: make a new folder before each test, remove it with its content afterwards. */
void folder_make(void);
void folder_remove(void);
/* The path of a file in the folder; only the last eight results are valid. */
const char *in_folder(const char *name);
void folder_write(const char *name, const void *bytes, size_t size);
/* The content of a file in the folder must be this text. */
void folder_expect(const char *name, const char *text);
/* Two files in the folder must have the same content. */
void folder_same(const char *left, const char *right);
/* The number of files and folders in the folder. */
int folder_count(void);

/* `done` is the result of a function that returns false with ag_error(). It must be true; */
void expect_done(bool done);
/* it must be false, and the message must be one line with this part. */
void expect_refused(bool done, const char *part);

/* The number in an environment variable, for a more thorough run; `fallback` without the variable. */
long from_environment(const char *name, long fallback);

#endif
