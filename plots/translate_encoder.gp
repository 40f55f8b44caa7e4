# translate_encoder.gp: encoder self-attention of a translated sentence, by layer and head; see attention_maps.gp.
JAPANESE = 1
folder = ARG0[:strlen(ARG0) - strlen("translate_encoder.gp")]
load folder."style.gp"
kind = "encoder"
name = "translate_encoder"
title = "Each word of the source reads the other words"
subtitle = "Encoder self-attention: each row has the weights with which a word reads all words of the source (columns)"
load folder."attention_maps.gp"
