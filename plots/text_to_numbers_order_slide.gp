# text_to_numbers_order_slide.gp: how far the vectors of a sentence's words move if two names are exchanged.
# Reads text_to_numbers_order.csv (token,without,with), which examples/text_to_numbers writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("text_to_numbers_order_slide.gp")]."slide.gp"

data = "text_to_numbers_order.csv"

do for [format in FORMATS] {
    eval open_panel(format, "text_to_numbers_order")
    eval slide("井上 and 大森 exchanged: how far each vector moves", 0.14, 0.96, 0.12, 0.89)
    set key at graph 0.98, 0.5 right spacing 1.6
    set style fill solid noborder
    set xrange [-0.002:*]
    set yrange [13.6:-0.6]
    set xtics 0.05
    plot data using ($3 / 2):0:($3 / 2):(0.36):ytic(1) with boxxyerror fillcolor rgb "#0072B2" title say("with positions"), \
         data using 2:0 with points lt 1 ps 1.8 title say("without: all 0")
    unset multiplot
}
unset output
