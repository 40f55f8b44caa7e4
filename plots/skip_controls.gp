# skip_controls.gp: the last losses with other first weights, another optimizer and other targets. Reads skip_controls.csv
# (control,zero,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,ffn_factor,skip_factor) and the number of blocks from
# skip_gradient.csv, which examples/skip_connection writes.
load ARG0[:strlen(ARG0) - strlen("skip_controls.gp")]."style.gp"

data = "skip_controls.csv"
stats data using 2 name "ZERO" nooutput
rows = ZERO_records
stats "skip_gradient.csv" using 2 name "BLOCK" nooutput
blocks = BLOCK_max
name(text, f, skip) = sprintf("%s\n{/*0.75 %s}", say(text), sprintf(say("gradient × %.2g, × %.3g a block"), f, skip))
# At least a decade to the right of always answering 0, for its label.
stats data using (valid(8) && $8 < 1e30 ? $8 : 0) name "MOST" nooutput
highest = 2 * larger(MOST_max, 5 * ZERO_max)
set logscale x
set format x "10^{%L}"
set xlabel say("mean squared error after training")
set xrange [*:highest]
set yrange [rows - 0.4:-0.75] noreverse
set border 1

do for [format in FORMATS] {
    eval open_picture(format, "skip_controls", 1600, 900)
    eval heading("What the result depends on", \
        sprintf(say("%d blocks, one thing changed in each row; the bars reach from the best to the worst seed"), blocks))
    set tmargin at screen 0.82
    set lmargin at screen 0.3
    set rmargin at screen 0.96
    set key at screen 0.98, 0.94 right horizontal
    plot data using 2:($0 - 0.4):(0):(0.8) with vectors nohead lc rgb gray lw 2 dt solid, \
         data using 2:(-0.57):(say("always answering 0")) every ::0::0 with labels textcolor rgb gray font ',18', \
         data using (finite($3)):($0 - 0.15):(finite($5)):(finite($6)):ytic(name(strcol(1), $9, $10)) \
             with xerrorbars lt 1 dt solid lw 3 title "f(x)", \
         data using (finite($4)):($0 + 0.15):(finite($7)):(finite($8)) with xerrorbars lt 2 lw 3 title "x + f(x)", \
         data using (valid(4) && $4 < 1e30 ? NaN : $2):($0 + 0.15):(say("x + f(x) diverges")) \
             with labels left offset 1, 0 textcolor lt 2
}
unset output
