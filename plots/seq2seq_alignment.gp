# seq2seq_alignment.gp: the attention of two models to the letters of a word when they spell it backwards. Reads
# seq2seq_attention.csv and seq2seq_transformer.csv (a row for each letter written, a column for each letter read), which
# examples/seq2seq writes.
load ARG0[:strlen(ARG0) - strlen("seq2seq_alignment.gp")]."style.gp"

first = "seq2seq_attention.csv"
second = "seq2seq_transformer.csv"
stats first using 0 name "ROW" nooutput
rows = ROW_records
columns = rows - 1

do for [format in FORMATS] {
    eval open_picture(format, "seq2seq_alignment", 1600, 900)
    set multiplot
    eval panel("recurrent model with attention", 0.085, 0.455, 0.17, 0.76)
    eval heading("The models learn by themselves to read from right to left", \
        "Attention weight of each letter of the word (column) when a letter is written (row, from top to bottom)")
    eval heat_map(rising, columns, rows)
    set xlabel say("letter read")
    set ylabel say("letter written")
    set cbrange [0:1]
    unset colorbox
    plot first matrix rowheaders columnheaders with image

    eval panel("Transformer, mean of its heads", 0.54, 0.9, 0.17, 0.76)
    set xlabel say("letter read")
    set colorbox
    set cbtics 0.25
    plot second matrix rowheaders columnheaders with image
    unset multiplot
}
unset output
