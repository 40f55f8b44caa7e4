/* translation.h: the headers for translation with an encoder-decoder, under the name that they had in earlier versions. */
#ifndef KAERU_TRANSLATION_H
#define KAERU_TRANSLATION_H

#include "kaeru/text.h"
#include "kaeru/training.h"

#endif
