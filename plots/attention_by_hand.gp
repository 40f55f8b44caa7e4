# attention_by_hand.gp: softmax of five scores, "bank" in two sentences, the next word.
# Reads attention_by_hand_softmax.csv (score,exponential,weight), attention_by_hand_bank.csv (sentence,x,y,new_x,new_y) and
# attention_by_hand_next.csv (word,score,probability), which examples/attention_by_hand writes.
load ARG0[:strlen(ARG0) - strlen("attention_by_hand.gp")]."style.gp"

scores = "attention_by_hand_softmax.csv"
bank = "attention_by_hand_bank.csv"
next = "attention_by_hand_next.csv"

do for [format in FORMATS] {
    eval open_picture(format, "attention_by_hand", 1800, 840)
    set multiplot
    eval panel("softmax([1, 3, −2, 6, −1])", 0.095, 0.305, 0.18, 0.74)
    eval heading("Softmax, a word in its context, and the next word", \
        "Middle: made-up vectors; attention moves bank toward river or money.  Right: after: money in the")
    eval curves
    set key off
    set xrange [-0.6:4.6]
    set yrange [0:1.08]
    set boxwidth 0.6
    set xlabel say("score")
    set ylabel say("weight")
    plot scores using 0:3:xtic(sprintf("%g", $1)) with boxes fillcolor rgb "#0072B2", \
         scores using 0:3:(sprintf("%.3f", $3)) with labels offset 0, 0.8 font ",17"

    eval panel("bank in two sentences", 0.38, 0.63, 0.18, 0.74)
    eval curves
    set xtics 1
    set ytics 1
    set key off
    set xrange [-0.2:3.6]
    set yrange [-0.2:3.6]
    set xlabel say("water")
    set ylabel say("money")
    set style arrow 1 head filled size screen 0.012, 22 lw 4 lc rgb "#0072B2"
    set style arrow 2 head filled size screen 0.012, 22 lw 4 lc rgb "#D55E00"
    set label 11 "river" at 3, 0 offset -2, 0.8 point pt 7 ps 1.8
    set label 12 "money" at 0, 3 offset 0.8, 0.4 point pt 7 ps 1.8
    set label 13 "bank" at 1, 1 offset -4, -0.6 point pt 7 ps 1.8
    set label 14 "the bank of the river" at 1.5, 1.5 left textcolor rgb "#0072B2" font ",17"
    set label 15 "money in the bank" at 0.75, 2.3 left textcolor rgb "#D55E00" font ",17"
    plot bank using 2:3:($4 - $2):($5 - $3) every ::0::0 with vectors arrowstyle 1, \
         bank using 2:3:($4 - $2):($5 - $3) every ::1::1 with vectors arrowstyle 2

    eval panel("the next word (with its score)", 0.73, 0.97, 0.18, 0.74)
    eval curves
    set key off
    set xrange [-0.6:6.6]
    set yrange [0:1.08]
    set xtics rotate by 40 right font ",17" noenhanced
    set ylabel say("probability")
    plot next using 0:3:xtic(1) with boxes fillcolor rgb "#0072B2", \
         next using 0:3:(sprintf("%.1f", $2)) with labels offset 0, 0.8 font ",15"
    set xtics norotate
    unset multiplot
}
unset output
