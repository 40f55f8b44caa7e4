# skip_gradient.gp: many blocks in a row, with and without skip connections: the loss, and the gradient at each block.
# Reads skip_deep.csv (step,ffn,skip) and skip_gradient.csv (step,block,ffn,skip: the norm of d loss / d output of the
# block; block 0 is the input), which examples/skip_connection writes.
load ARG0[:strlen(ARG0) - strlen("skip_gradient.gp")]."style.gp"

loss = "skip_deep.csv"
gradient = "skip_gradient.csv"
stats loss using 2 name "FFN" nooutput
stats loss using 3 name "SKIP" nooutput
low = FFN_min < SKIP_min ? FFN_min : SKIP_min
high = FFN_max > SKIP_max ? FFN_max : SKIP_max
every = ceil(FFN_records / 10.0)
stats gradient using 2 name "BLOCK" nooutput
blocks = BLOCK_max

# The mean factor by which a block multiplies the gradient before the first step, over the blocks with a gradient: what is
# below 1e-38 counts as 0. In the file, block 0 comes first.
reached(c) = column(1) == 0 && column(c) > 0 ? (bottom = bottom > 0 ? bottom : column(c), top = column(c), column(2)) : NaN
factor(lowest) = lowest < blocks ? (bottom / top) ** (1.0 / (blocks - lowest)) : 0
bottom = 0
stats gradient using (reached(3)) name "PLAIN" nooutput
plain = sprintf(say("f(x): × %.2g a block"), factor(PLAIN_min))
bottom = 0
stats gradient using (reached(4)) name "WITH_SKIP" nooutput
skip = sprintf(say("x + f(x): × %.3g a block"), factor(WITH_SKIP_min))

do for [format in FORMATS] {
    eval open_picture(format, "skip_gradient", 1800, 800)
    set multiplot
    eval heading(sprintf(say("%d blocks: without skip connections the gradient vanishes"), blocks), \
        "Left: the blocks learn to return their input.  Right: the gradient at each block, from the output to the input")

    set title say("mean squared error")
    set lmargin at screen 0.09
    set rmargin at screen 0.37
    set tmargin at screen 0.74
    set bmargin at screen 0.16
    set xlabel say("training step")
    set logscale y
    set format y "10^{%L}"
    set xrange [0:FFN_records]
    set yrange [0.7 * low:1.4 * high]
    plot loss using 1:2 with linespoints lt 1 pointinterval every, \
         loss using 1:3 with linespoints lt 2 pointinterval every

    set title say("norm of the gradient at each block")
    set lmargin at screen 0.46
    set rmargin at screen 0.735
    unset label
    set xlabel sprintf(say("block (0: the input, %d: the output)"), blocks)
    set xrange [0:blocks]
    set autoscale y
    unset mytics
    set key at screen 0.75, 0.6 left Left reverse samplen 2 font ",19"
    plot gradient using 2:($1 == 0 ? $3 : NaN) with linespoints lt 1 pointinterval ceil(blocks / 16.0) title plain, \
         gradient using 2:($1 > 0 ? $3 : NaN) with lines lt 1 lw 2 title say("f(x) after training"), \
         gradient using 2:($1 == 0 ? $4 : NaN) with linespoints lt 2 pointinterval ceil(blocks / 16.0) title skip, \
         gradient using 2:($1 > 0 ? $4 : NaN) with lines lt 2 lw 2 title say("x + f(x) after training")
    set mytics
    unset logscale y
    set format y
    unset multiplot
}
unset output
