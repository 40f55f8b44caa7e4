# text_to_numbers_order.gp: three ways to number positions, and what two sentences with exchanged names look like to attention.
# Reads text_to_numbers_positions.csv (length,position,i,share,wave) and text_to_numbers_order.csv (token,without,with), which
# examples/text_to_numbers writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("text_to_numbers_order.gp")]."style.gp"

positions = "text_to_numbers_positions.csv"
order = "text_to_numbers_order.csv"

do for [format in FORMATS] {
    eval open_picture(format, "text_to_numbers_order", 1800, 840)
    set multiplot
    do for [n = 1:3] {
        eval panel(word("i i/N sin(i)", n), 0.05 + 0.155 * (n - 1), 0.16 + 0.155 * (n - 1), 0.17, 0.74)
        if (n == 1) {
            eval heading("Attention needs positions, and not every number will do", \
                "Left: a sentence of 5 words (orange) and one of 20 (blue).  Right: what changes if 井上 and 大森 are exchanged")
        }
        eval curves
        set key off
        set tics font ",16"
        set xrange [0:20]
        set xtics 10
        set xlabel say("position")
        plot positions using ($1 == 20 ? $2 : NaN):n + 2 with points lt 2 ps 1, \
             positions using ($1 == 5 ? $2 : NaN):n + 2 with points lt 1 ps 1.7
    }
    eval panel("how far each word's vector moves", 0.58, 0.98, 0.17, 0.74)
    eval curves
    set key top right
    set xtics font ",15" rotate by 50 right
    set xrange [-0.6:13.6]
    set yrange [0:*]
    set boxwidth 0.4
    set ytics 0.05
    plot order using 0:3:xtic(1) with boxes fillcolor rgb "#0072B2" title say("with positions"), \
         order using 0:2 with points lt 1 ps 1.5 title say("without: all 0")
    set xtics norotate
    unset multiplot
}
unset output
