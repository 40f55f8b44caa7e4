# norm_conventions.gp: the result of four definitions of layer normalization, by the deviation of the row.
# Reads norm_conventions.csv (deviation,pytorch,annotated,std_eps,std), which examples/norm_conventions writes.
load ARG0[:strlen(ARG0) - strlen("norm_conventions.gp")]."style.gp"

data = "norm_conventions.csv"

do for [format in FORMATS] {
    eval open_picture(format, "norm_conventions", 1600, 800)
    set multiplot
    eval panel("", 0.115, 0.62, 0.17, 0.8)
    eval heading("Four layer norms differ on nearly constant rows", \
        "Deviation of a row of 4 numbers before and after. s is σ with n − 1 instead of n: √(3/4) = 0.866")
    eval curves
    set xlabel say("deviation σ of the row before")
    set ylabel say("deviation after")
    set logscale x
    set format x "10^{%L}"
    set xtics 100
    set xrange [1e-8:100]
    unset mxtics
    set yrange [0:1.15]
    set key outside right center Left reverse spacing 2 enhanced
    plot data using 1:5 with lines lt 7 title "std: / σ", \
         data using 1:4 with lines lt 2 title "std + eps: / (σ + 10^{−6})", \
         data using 1:3 with lines lt 1 title "annotated: / (s + 10^{−6})", \
         data using 1:2 with lines lt 3 title "PyTorch: / √(σ² + 10^{−5})"
    unset multiplot
    unset logscale
    set mxtics default
    set format x
}
unset output
