/* vocab_file.h: vocabularies as JSON, {"token": 0, ...}: each id from 0 up exactly once. */
#ifndef KAERU_VOCAB_FILE_H
#define KAERU_VOCAB_FILE_H

#include <stdbool.h>

#include "word_table.h"

/* The tokens by id, in memory of the region; NULL with ag_error() if the file is not such a list. It may be empty. */
const Word *vocab_read(Region *region, const char *path, int32_t *n);
/* The same of a file's content; `name` stands in messages. */
const Word *vocab_parse(Region *region, const char *name, const char *text, size_t size, int32_t *n);
/* What such a file holds, in memory of the region; NULL with ag_error() if a token is not UTF-8. Tokens must differ. */
const char *vocab_text(Region *region, const Word *token, int32_t n, size_t *size);
/* Replaces the file by that. */
bool vocab_write(const char *path, const Word *token, int32_t n);

#endif
