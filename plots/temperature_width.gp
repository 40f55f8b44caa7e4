# temperature_width.gp: the effect of the width K of queries and keys on softmax, with and without division by sqrt(K).
# Reads temperature_width.csv (width,variance,variance_scaled,entropy,entropy_scaled,gradient,gradient_scaled), which
# examples/temperature writes.
load ARG0[:strlen(ARG0) - strlen("temperature_width.gp")]."style.gp"

data = "temperature_width.csv"
# Many keys: more entropy, and smaller gradients.
stats data using 4 name "ENTROPY" nooutput
stats data using (larger(1e-38, smaller($6, $7))) name "GRADIENT" nooutput

do for [format in FORMATS] {
    eval open_picture(format, "temperature_width", 1800, 800)
    set multiplot
    do for [n = 1:3] {
        eval panel(n == 1 ? "variance of the scores" : n == 2 ? "entropy of the weights (nats)" : \
            "gradient at the scores (norm)", 0.33 * n - 0.275, 0.33 * n - 0.015, 0.16, 0.74)
        if (n == 1) {
            eval heading("Why attention divides by √K", \
                "Without it, scores grow with K. Few keys share the weight, then one has it all: the gradient vanishes")
        }
        eval curves
        set xlabel say("width K")
        set logscale x 2
        set xtics 4
        if (n == 2) { unset logscale y; set format y "%g" } else { set logscale y; set format y "10^{%L}" }
        set yrange [(n == 1 ? 0.3 : n == 2 ? 0 : smaller(0.02, GRADIENT_min)): \
            (n == 1 ? 20000 : n == 2 ? larger(4.5, 1.4 * ENTROPY_max) : 1)]
        set key top left Left reverse
        plot data using 1:2 * n with linespoints lt 1 title "q ⋅ k", \
             data using 1:2 * n + 1 with linespoints lt 2 title "q ⋅ k / √K"
    }
    unset multiplot
    unset logscale
    set format y
}
unset output
