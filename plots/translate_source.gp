# translate_source.gp: source attention of a translated sentence, by layer and head; see attention_maps.gp.
JAPANESE = 1
folder = ARG0[:strlen(ARG0) - strlen("translate_source.gp")]
load folder."style.gp"
kind = "source"
name = "translate_source"
title = "Each output word reads the words of the source that it translates"
subtitle = "Source attention: each row is a word of the translation, each column a word of the source"
load folder."attention_maps.gp"
