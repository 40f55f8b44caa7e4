# translate_encoder.gp: encoder self-attention of a translated sentence, by layer and head; see attention_maps.gp.
JAPANESE = 1
folder = ARG0[:strlen(ARG0) - strlen("translate_encoder.gp")]
load folder."style.gp"
kind = "encoder"
name = "translate_encoder"
title = "How the source looks at itself"
subtitle = "Encoder self-attention: each row shows which words (columns) a word of the source takes up"
load folder."attention_maps.gp"
