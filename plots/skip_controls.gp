# skip_controls.gp: the last losses with other first weights, another optimizer and other targets. Reads skip_controls.csv
# (control,zero,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,ffn_factor,skip_factor,blocks), which
# examples/skip_connection writes.
load ARG0[:strlen(ARG0) - strlen("skip_controls.gp")]."style.gp"

data = "skip_controls.csv"
stats data using 2 name "ZERO" nooutput
rows = ZERO_records
stats data using 11 name "BLOCK" nooutput
blocks = BLOCK_max
# At least a decade to the right of always answering 0, for its label.
stats data using (valid(8) && $8 < 1e30 ? $8 : 0) name "MOST" nooutput
highest = 2 * larger(MOST_max, 5 * ZERO_max)
set logscale x
set format x "10^{%L}"
set xlabel say("mean squared error after training")
set xrange [*:highest]
set yrange [rows - 0.4:-0.75] noreverse
set border 1
set link y2
set y2tics nomirror

do for [format in FORMATS] {
    eval open_slide(format, "skip_controls", 1360, 680)
    eval heading(sprintf(say("%d blocks: one change in each row"), blocks), "bars: all seeds")
    set tmargin at screen 0.78
    set bmargin at screen 0.21
    set lmargin at screen 0.36
    set rmargin at screen 0.78
    set label 3 say("gradient factor") at screen 0.985, 0.795 right textcolor rgb gray
    set key at screen 0.985, 0.89 right vertical maxrows 1 samplen 2
    plot data using 2:($0 - 0.4):(0):(0.8) with vectors nohead lc rgb gray lw 2 dt solid, \
         data using 2:(-0.62):(say("always answering 0")) every ::0::0 with labels right textcolor rgb gray, \
         data using (finite($3)):($0 - 0.15):(finite($5)):(finite($6)) \
             :ytic(say(strcol(1))):y2tic(sprintf("× %.2g, × %.3g", $9, $10)) \
             with xerrorbars lt 1 dt solid lw 3 title say("without f(x)"), \
         data using (finite($4)):($0 + 0.15):(finite($7)):(finite($8)) \
             with xerrorbars lt 2 lw 3 title say("with x + f(x)"), \
         data using (valid(4) && $4 < 1e30 ? NaN : $2):($0 + 0.15):(say("with: diverges")) \
             with labels left offset 1, 0 textcolor lt 2
}
unset output
