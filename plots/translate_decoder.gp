# translate_decoder.gp: decoder self-attention of a translated sentence, by layer and head; see attention_maps.gp.
JAPANESE = 1
folder = ARG0[:strlen(ARG0) - strlen("translate_decoder.gp")]
load folder."style.gp"
kind = "decoder"
name = "translate_decoder"
title = "Each output word reads the output words before it"
subtitle = \
    "Decoder self-attention: the row is the word that is written next, the columns are the words before it. Empty: masked"
load folder."attention_maps.gp"
