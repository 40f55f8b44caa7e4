/* kaeru.h: includes all public headers. */
#ifndef KAERU_H
#define KAERU_H

#include "kaeru/version.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"
#include "kaeru/parallel.h"
#include "kaeru/tensor_files.h"
#include "kaeru/fields.h"
#include "kaeru/attention.h"
#include "kaeru/lora.h"
#include "kaeru/recurrent.h"
#include "kaeru/transformer.h"
#include "kaeru/training.h"
#include "kaeru/seq2seq.h"
#include "kaeru/language.h"
#include "kaeru/gpt.h"
#include "kaeru/llama.h"
#include "kaeru/text.h"
#include "kaeru/lm.h"
#include "kaeru/translation.h"

#endif
