/* vocab_file.h: vocabularies as JSON, {"token": 0, ...}, with each id from 0 to n-1 once. */
#ifndef KAERU_VOCAB_FILE_H
#define KAERU_VOCAB_FILE_H

#include <stdbool.h>

#include "json.h"
#include "word_table.h"

/* Reads the tokens into a table that `owner` owns, each under its id. A vocabulary may be empty. NULL with ag_error() if the
 * file is not a vocabulary. */
WordTable *vocab_read(void *owner, const char *path);
/* The tokens of a file's content, ordered by id; `name` is for messages. */
const Word *vocab_parse(void *owner, const char *name, const char *text, size_t size, int32_t *n);
/* The same for a value that was parsed. */
const Word *vocab_of_json(void *owner, const char *name, const Json *root, int32_t *n);
/* The content of such a file, owned by `owner`; NULL with ag_error() if a token is not UTF-8. No two tokens may be
 * equal. */
const char *vocab_text(void *owner, const Word *token, int32_t n, size_t *size);
/* Replaces a file by this content. */
bool vocab_write(const char *path, const WordTable *t);

#endif
