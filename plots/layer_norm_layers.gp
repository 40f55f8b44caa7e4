# layer_norm_layers.gp: the distribution of the activations of each layer, before and after training, with and without
# layer normalization.
# Reads layer_norm_layers.csv (step,layer,value,plain,normalized), which examples/layer_norm writes.
load ARG0[:strlen(ARG0) - strlen("layer_norm_layers.gp")]."style.gp"

data = "layer_norm_layers.csv"
stats data using 1 name "STEP" nooutput
stats data using 2 name "LAYER" nooutput
stats data using 3 name "VALUE" nooutput
layers = int(LAYER_max)
bins = STEP_records / 2 / layers

# The rows of a layer, before training (0) and after (1), and the height of its curve before scaling.
first(layer, after) = bins * (layer - 1 + after * layers)
last(layer, after) = first(layer, after) + bins - 1
array high[4 * layers]
at(column, layer, after) = layer + layers * (after + 2 * (column - 4))
do for [column = 4:5] {
    do for [after = 0:1] {
        do for [layer = 1:layers] {
            stats data using column every ::first(layer, after)::last(layer, after) nooutput
            high[at(column, layer, after)] = STATS_max
        }
    }
}
mountain(share, column, layer, after) = layer - 0.9 * share / high[at(column, layer, after)]

do for [format in FORMATS] {
    eval open_picture(format, "layer_norm_layers", 1600, 1000)
    set multiplot
    do for [column = 4:5] {
        left = column == 4 ? 0.09 : 0.57
        eval panel(column == 4 ? "plain" : "normalized", left, left + 0.41, 0.12, 0.77)
        if (column == 4) {
            eval heading("Without normalization, the spread differs from layer to layer", \
                sprintf(say("Inputs of each ReLU: blue before training, line after %d steps. Curves have the same height"), \
                    STEP_max))
            set ylabel say("layer")
        }
        eval curves
        set xlabel sprintf(say("value (those beyond ±%d are not shown)"), ceil(VALUE_max))
        set xrange [-VALUE_max:VALUE_max]
        set yrange [layers + 0.3:-0.2]
        every = ceil(layers / 20.0)                     # more labels would overlap
        set ytics every, every, layers
        plot for [layer = 1:layers] data using 3:(mountain(column(column), column, layer, 0)):(layer) \
                every ::first(layer, 0)::last(layer, 0) with filledcurves fillcolor rgb "#0072B2", \
             for [layer = 1:layers] data using 3:(mountain(column(column), column, layer, 1)) \
                every ::first(layer, 1)::last(layer, 1) with lines lt 1 dt solid lw 2.5
    }
    unset multiplot
}
unset output
