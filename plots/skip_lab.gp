# skip_lab.gp: the held-out loss of each row of the table, and the largest eigenvalue of the Hessian before and after training.
# Reads skip_lab.csv, which examples/skip_lab writes: row, network (0: FFN, 1: GPT), ..., three columns for each quantity (the
# middle, the least and the largest value of all seeds): 10 held-out loss, 28 and 31 eigenvalue before and after training.
load ARG0[:strlen(ARG0) - strlen("skip_lab.gp")]."style.gp"

data = "skip_lab.csv"
array N = [0, 0]                                                # rows of each network
array DEPTH = [0, 0]
array LOW = [1e30, 1e30, 1e30, 1e30]                            # of the losses, and of the eigenvalues
array HIGH = [0, 0, 0, 0]
extend(i, least, most) = (LOW[i] = finite(least) < LOW[i] ? least : LOW[i], HIGH[i] = finite(most) > HIGH[i] ? most : HIGH[i])
stats data using (N[$2 + 1] = N[$2 + 1] + 1, DEPTH[$2 + 1] = $3, extend($2 + 1, $11, $12), extend($2 + 3, $29, $30), \
    extend($2 + 3, $32, $33), 0) nooutput
networks = (N[1] > 0) + (N[2] > 0)
first = N[1] > 0 ? 0 : 1
rows(k) = N[k + 1]
place(k) = k == 0 ? 0 : N[1]                                    # of the first row in the file
title_of(k) = k == 0 ? sprintf(say("FFN, %d blocks: held-out loss"), DEPTH[1]) \
    : sprintf(say("GPT, %d blocks: held-out loss"), DEPTH[2])
# A range for all finite points, also if they are equal or there are none.
range_of(i, margin) = HIGH[i] < LOW[i] ? "set xrange [1:10]" : \
    sprintf("set xrange [%g:%g]", LOW[i] / margin, HIGH[i] * margin)
only(k, v) = column(2) == k ? finite(v) : NaN
left_of(k) = 0.125 + (k - first) * 0.49
right_of(k) = networks == 1 ? 0.97 : left_of(k) + 0.37

do for [format in FORMATS] {
    eval open_picture(format, "skip_lab", 1600, 1300)
    set multiplot
    do for [k = first:first + networks - 1] {
        eval curves
        set ytics autofreq
        unset mytics
        set lmargin at screen left_of(k)
        set rmargin at screen right_of(k)
        set yrange [place(k) + rows(k) - 0.4:place(k) - 0.6] noreverse
        unset label
        unset key
        if (k == first) {
            eval heading("Ways to connect blocks, each at its best learning rate", "bars: all seeds")
        }
        set title title_of(k)
        set tmargin at screen 0.82
        set bmargin at screen 0.54
        eval range_of(k + 1, k == 0 ? 1.5 : 1.01)
        if (k == 0) { set logscale x; set format x "10^{%L}" } else { unset logscale x; set format x "%g" }
        plot data using (only(k, $10)):($0):(finite($11)):(finite($12)):ytic(strcol(1)) with xerrorbars lt 2 dt solid lw 3
        eval curves
        unset mytics
        set yrange [place(k) + rows(k) - 0.4:place(k) - 0.6] noreverse
        unset label
        set title say("largest eigenvalue of the Hessian")
        set tmargin at screen 0.44
        set bmargin at screen 0.11
        set logscale x
        set format x "10^{%L}"
        eval range_of(k + 3, 1.5)
        set key at screen 0.985, 0.045 right vertical maxrows 1 samplen 2
        plot data using (only(k, $28)):($0 - 0.15):(finite($29)):(finite($30)):ytic(strcol(1)) \
                with xerrorbars lt 1 dt solid lw 3 title say("before training"), \
             data using (only(k, $31)):($0 + 0.15):(finite($32)):(finite($33)) \
                with xerrorbars lt 2 dt solid lw 3 title say("after training")
        unset logscale x
    }
    unset multiplot
}
unset output
