# word_vectors.gp: the vectors of words before and after they learned to predict their neighbors.
# Reads word_vectors.csv (word,step,x,y), which examples/word_vectors writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("word_vectors.gp")]."style.gp"

data = "word_vectors.csv"
WORDS = 11
# people, animals, food, verbs
kind(n) = n < 3 ? 1 : n < 6 ? 2 : n < 9 ? 3 : 4
mark(k) = int(word("7 5 9 6", k))
color(k) = word("#D55E00 #0072B2 #009E73 #777777", k)

do for [format in FORMATS] {
    eval open_picture(format, "word_vectors", 1800, 950)
    set multiplot
    do for [part = 0:1] {
        eval panel(part ? "after training" : "before training: random", 0.04 + 0.43 * part, 0.42 + 0.43 * part, 0.08, 0.77)
        if (part == 0) {
            eval heading("Words that are used alike come together", \
                "Each word learned to predict the other words of sentences such as 井上 は 犬 を 飼う")
        }
        eval curves
        set key off
        set offsets graph 0.1, graph 0.1, graph 0.1, graph 0.1
        set tics font ",16"
        if (part == 1) { set key outside right center Left reverse samplen 1 }
        plot for [k = 1:4] data using ($0 >= part * WORDS && $0 < (part + 1) * WORDS && kind($0 - part * WORDS) == k ? \
                $3 : NaN):4 with points pt mark(k) ps 1.8 lc rgb color(k) \
                title say(word("people animals food verbs", k)), \
             for [k = 0:2] data using ($0 >= part * WORDS && $0 < (part + 1) * WORDS && int($0 - part * WORDS) % 3 == k ? \
                $3 : NaN):4:1 with labels noenhanced offset word("-2.8 2.8 0", k + 1) + 0, k == 2 ? -0.9 : 0 notitle
        set offsets
    }
    unset multiplot
}
unset output
