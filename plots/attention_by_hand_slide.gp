# attention_by_hand_slide.gp: "bank" in two sentences.
# Reads attention_by_hand_bank.csv (sentence,x,y,new_x,new_y), which examples/attention_by_hand writes.
load ARG0[:strlen(ARG0) - strlen("attention_by_hand_slide.gp")]."slide.gp"

data = "attention_by_hand_bank.csv"

do for [format in FORMATS] {
    eval open_panel(format, "attention_by_hand")
    eval slide("attention moves bank toward its sentence", 0.12, 0.96, 0.19, 0.88)
    set xtics 1
    set ytics 1
    set xrange [-0.2:4.6]
    set yrange [-0.2:3.4]
    set xlabel say("water")
    set ylabel say("money")
    set style arrow 1 head filled size screen 0.02, 22 lw 6 lc rgb "#0072B2"
    set style arrow 2 head filled size screen 0.02, 22 lw 6 lc rgb "#D55E00"
    set label 11 "river" at 3, 0 left offset 1.2, 0 point pt 7 ps 2.4
    set label 12 "money" at 0, 3 left offset 1.2, 0 point pt 7 ps 2.4
    set label 13 "bank" at 1, 1 right offset -1.8, 0 point pt 7 ps 2.4
    plot data using 2:3:($4 - $2):($5 - $3) every ::0::0 with vectors arrowstyle 1, \
         data using 2:3:($4 - $2):($5 - $3) every ::1::1 with vectors arrowstyle 2, \
         data using 4:5:("the bank of the river") every ::0::0 with labels left offset 0.6, 1 textcolor rgb "#0072B2", \
         data using 4:5:("money in the bank") every ::1::1 with labels left offset 1, 0.6 textcolor rgb "#D55E00"
    unset multiplot
}
unset output
