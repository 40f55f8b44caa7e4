# knobs_mask.gp: the causal mask, and the mask of a sentence with padding.
# Reads knobs_mask.csv (query,key,seen) and knobs_mask_sentence.csv (token,query,key,seen), which examples/knobs writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("knobs_mask.gp")]."style.gp"

causal = "knobs_mask.csv"
sentence = "knobs_mask_sentence.csv"
stats causal using 1 name "CAUSAL" nooutput
stats sentence using 2 name "SENTENCE" nooutput

do for [format in FORMATS] {
    eval open_picture(format, "knobs_mask", 1600, 900)
    set multiplot
    eval panel("the causal mask of 20 positions", 0.1, 0.47, 0.16, 0.76)
    eval heading("A position sees itself and the positions before it, and no padding", \
        "Yellow: the query (row) sees the key (column)")
    eval heat_map(rising, CAUSAL_max + 1, CAUSAL_max + 1)
    unset colorbox
    set cbrange [0:1]
    set xlabel say("key")
    set ylabel say("query")
    plot causal using 2:1:(CELL):(CELL):3 with @BOXES

    eval panel("a sentence with padding", 0.62, 0.97, 0.16, 0.76)
    eval heat_map(rising, SENTENCE_max + 1, SENTENCE_max + 1)
    set xtics noenhanced rotate by 40 right offset 0, -0.3
    set ytics noenhanced
    plot sentence using 3:2:(CELL):(CELL):4 with @BOXES, \
         sentence using 2:2:(0):(0):xtic(1):ytic(1) with boxxyerror
    set xtics enhanced norotate nooffset
    set ytics enhanced
    set colorbox
    eval curves
    unset multiplot
}
unset output
