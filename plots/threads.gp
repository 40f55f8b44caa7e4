# threads.gp: the efficiency of a training step by the number of threads, as estimated, and as measured.
# Reads threads.csv (workload,precision,threads,model,efficiency,measured), which tests/bench/threads writes.
load ARG0[:strlen(ARG0) - strlen("threads.gp")]."style.gp"

data = "threads.csv"
header = "workload,precision,threads,model,efficiency,measured"
if (system(sprintf("sed -n '1{/^%s/!q;}; 2p' %s 2>/dev/null", header, data)) eq "") {
    print sprintf("threads.gp: no results in %s: expected lines below %s, as tests/bench/threads writes them", data, header)
    exit status 1
}
small = "gemm skip shakespeare decode"
large = "copy translate gpt2 gpt2_long"
of(name) = strcol("workload") eq name && strcol("precision") eq "float32"

# The measured time on one thread, from the first row of a workload.
one = 1
measured(threads, seconds) = (threads == 1 ? one = seconds : 0, one / seconds / threads)

do for [format in FORMATS] {
    eval open_picture(format, "threads", 1600, 800)
    set multiplot
    do for [names in "small large"] {
        left = names eq "small" ? 0.08 : 0.56
        list = value(names)
        eval panel(names eq "small" ? "smaller steps" : "whole models", left, left + 0.4, 0.16, 0.74)
        if (names eq "small") {
            eval heading("The time of a step on one thread / (threads x their time)", \
                "A model from counters of the step on one thread.  Gray circles: measured on this machine")
        }
        set logscale x 2
        set xlabel "threads"
        if (names eq "small") { set ylabel "efficiency" }
        set xtics (1, 2, 4, 8, 16, 32, 64)
        set xrange [0.9:72]
        set yrange [0:1.05]
        set key bottom left Left reverse
        plot for [i = 1:words(list)] data using (of(word(list, i)) ? column("threads") : NaN):"efficiency" \
                with linespoints lt i title word(list, i), \
            for [i = 1:words(list)] data using (of(word(list, i)) ? column("threads") : NaN) \
                :(of(word(list, i)) ? measured(column("threads"), column("measured")) : NaN) \
                with points pt 6 ps 3 lw 2 lc rgb gray notitle
        if (names eq "small") { unset label }
    }
    unset multiplot
}
unset output
