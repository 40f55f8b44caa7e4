# translate_decoder.gp: decoder self-attention of a translated sentence, by layer and head; see attention_maps.gp.
JAPANESE = 1
folder = ARG0[:strlen(ARG0) - strlen("translate_decoder.gp")]
load folder."style.gp"
kind = "decoder"
name = "translate_decoder"
title = "What is written looks back at what was written before"
subtitle = "Decoder self-attention: rows are words as they are written, columns those already there; " . \
    "the future is masked"
load folder."attention_maps.gp"
