# text_to_numbers.gp: six ids as one-hot vectors, and as rows of an embedding table.
# Reads text_to_numbers.csv (matrix,row,column,value), which examples/text_to_numbers writes.
load ARG0[:strlen(ARG0) - strlen("text_to_numbers.gp")]."style.gp"

data = "text_to_numbers.csv"
ids = "2 1 3 12 9 5"

do for [format in FORMATS] {
    eval open_picture(format, "text_to_numbers", 1800, 900)
    set multiplot
    set tics font ",17"
    set colorbox
    eval panel("one-hot: 13 numbers for 13 words", 0.075, 0.335, 0.16, 0.74)
    eval heading("Ids select rows of a table; a row is the vector of a word", \
        "A one-hot vector only says which word it is. The rows of the table start as random numbers; training changes them")
    eval heat_map(signed, 13, 6)
    unset colorbox
    set cbrange [-2.5:2.5]
    set xtics 1
    set xlabel say("column")
    set ylabel say("id")
    set ytics ()
    do for [n = 1:6] { set ytics add (word(ids, n) n - 1) }
    plot data using (strcol(1) eq "one-hot" ? $3 : NaN):2:(CELL):(CELL):4 with @BOXES

    eval panel("the embedding table: 13 × 8", 0.42, 0.63, 0.16, 0.74)
    eval heat_map(signed, 8, 13)
    set ytics 1
    set ylabel say("row")
    set xlabel say("column")
    plot data using (strcol(1) eq "table" ? $3 : NaN):2:(CELL):(CELL):4 with @BOXES

    eval panel("the six vectors: 6 × 8", 0.70, 0.91, 0.16, 0.74)
    eval heat_map(signed, 8, 6)
    set colorbox
    set ytics ()
    do for [n = 1:6] { set ytics add (word(ids, n) n - 1) }
    set xlabel say("column")
    set ylabel say("id")
    plot data using (strcol(1) eq "rows" ? $3 : NaN):2:(CELL):(CELL):4 with @BOXES
    eval curves
    set ytics autofreq
    unset multiplot
}
unset output
