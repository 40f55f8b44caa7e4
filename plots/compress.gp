# compress.gp: what the bytes of a text cost, from its beginning to its end.
# Reads compress.csv (byte,bits_per_byte,mean), which examples/compress writes.
load ARG0[:strlen(ARG0) - strlen("compress.gp")]."style.gp"

data = "compress.csv"
stats data using 1 name "BYTE" nooutput
stats data using 3 every ::(BYTE_records - 1) name "MEAN" nooutput

set xlabel say("byte of the text")
set ylabel say("bits a byte")
set xrange [0:1.02 * BYTE_max]
set yrange [0:*]
set offsets 0, 0, graph 0.15, 0          # room for the key
set key top right

do for [format in FORMATS] {
    eval open_picture(format, "compress", 1200, 800)
    eval heading("The better the prediction, the fewer bits", \
        sprintf(say("The whole text: %.3f bits a byte. Uncompressed, a byte has 8"), MEAN_max))
    set tmargin at screen 0.8
    plot data using 1:2 with lines lt 1 lw 2 dt solid title say("here"), \
         data using 1:3 with lines lt 2 title say("mean so far")
}
unset output
