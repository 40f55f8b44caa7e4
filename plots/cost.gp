# cost.gp: the efficiency of data-parallel training by the number of processes, as estimated.
# Reads cost.csv (model,gigabits,tokens,processes,computing,exchange,efficiency), which tests/bench/cost prints.
load ARG0[:strlen(ARG0) - strlen("cost.gp")]."style.gp"

data = "cost.csv"
header = "model,gigabits,tokens,processes,computing,exchange,efficiency"
if (system(sprintf("sed -n '1{/^%s/!q;}; 2p' %s 2>/dev/null", header, data)) eq "") {
    print sprintf("cost.gp: no results in %s: expected lines below %s, as tests/bench/cost prints them", data, header)
    exit status 1
}
model(i) = i <= 2 ? "GPT-2 124M" : "GPT-2 1.5B"
gigabits(i) = i % 2 ? 10 : 100
of(i, tokens) = strcol("model") eq model(i) && column("gigabits") == gigabits(i) && column("tokens") == tokens

do for [format in FORMATS] {
    eval open_picture(format, "cost", 1600, 800)
    set multiplot
    do for [tokens in "1024 8192"] {
        left = tokens eq "1024" ? 0.08 : 0.56
        eval panel(tokens." tokens of each process in a step", left, left + 0.4, 0.16, 0.74)
        if (tokens eq "1024") {
            eval heading("Data-parallel training: the share of the time that computes", \
                "A model of the cost, not a measurement.  Gradients travel during backward, weights after the step")
        }
        set logscale x 2
        set xlabel "processes"
        if (tokens eq "1024") { set ylabel "efficiency" }
        set xtics (1, 4, 16, 64, 256, 1024)
        set xrange [0.9:1200]
        set yrange [0:1.05]
        if (tokens eq "1024") { unset key } else { set key bottom left }
        plot for [i = 1:4] data using (of(i, int(tokens)) ? column("processes") : NaN):"efficiency" \
            with linespoints lt i title sprintf("%s, %d Gbit/s", model(i), gigabits(i))
    }
    unset multiplot
}
unset output
