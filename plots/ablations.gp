# ablations.gp: right answers with one part changed, mean and range of three seeds, and the paper's BLEU by layers.
# Reads ablations.csv (setup,part,mean,least,most), which examples/ablations writes.
load ARG0[:strlen(ARG0) - strlen("ablations.gp")]."style.gp"

data = "ablations.csv"
stats data using 4 name "LEAST" nooutput
rows = LEAST_records
low = 10 * floor(LEAST_min / 10 - 0.5)
color(part) = word("#0072B2 #E69F00 #009E73 #CC79A7 #D55E00", int(part) + 1)

$paper << EOD
layers,BLEU
2,23.7
4,25.3
6,25.8
8,25.5
EOD

do for [format in FORMATS] {
    eval open_picture(format, "ablations", 1800, 1000)
    set multiplot
    eval panel("right answers in %", 0.23, 0.63, 0.12, 0.77)
    eval heading("One part changed at a time", \
        "Small Transformers follow arrows. Points: mean of three seeds; lines: from the worst seed to the best")
    eval curves
    set key off
    set xrange [low:101]
    set yrange [rows + 4 - 0.4:-0.6]
    set ytics font ",20" noenhanced
    plot for [part = 0:4] data using ($2 == part ? $3 : NaN):($0 + $2):4:5:ytic(say(strcol(1))) with xerrorbars \
        lt 1 dt solid pt 7 ps 1.5 lw 3 lc rgb color(part)
    eval panel("the paper, by layers: BLEU", 0.74, 0.97, 0.12, 0.77)
    eval curves
    set key off
    set xrange [0.4:9]
    set yrange [23:26.5]
    set xtics ("2" 2, "4" 4, "6" 6, "8" 8)
    set xlabel say("layers")
    plot $paper using 1:2 with linespoints lt 2, \
         $paper using 1:($1 == 8 ? NaN : $2):2 with labels right offset -0.7, 0.5 font ",20", \
         $paper using 1:($1 == 8 ? $2 : NaN):2 with labels offset 0, -1.2 font ",20"
    unset multiplot
}
unset output
