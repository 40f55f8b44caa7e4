# word_vectors.gp: the vectors of words before and after they learned to predict their neighbors.
# Reads word_vectors.csv (word,step,x,y), which examples/word_vectors writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("word_vectors.gp")]."style.gp"

data = "word_vectors.csv"
array NAMES = ["people: Inoue, Omori, Tanaka", "animals: dog, cat, bird", "food: bread, fish, rice", "verbs: keep, eat"]
# The three words of a kind have their labels on the left, on the right and below; verbs on the right.
is_shown(n) = n >= part * WORDS && n < (part + 1) * WORDS
side(n) = kind(n) == 4 ? 1 : int(n) % 3
of_side(k) = is_shown(column(0)) && side(column(0) - part * WORDS) == k ? column(3) : NaN
of_kind(k) = is_shown(column(0)) && kind(column(0) - part * WORDS) == k ? column(3) : NaN
WORDS = 11
# people, animals, food, verbs
kind(n) = n < 3 ? 1 : n < 6 ? 2 : n < 9 ? 3 : 4
mark(k) = int(word("6 4 8 12", k))
color(k) = word("#D55E00 #0072B2 #009E73 #777777", k)

do for [format in FORMATS] {
    eval open_picture(format, "word_vectors", 1800, 950)
    set multiplot
    do for [part = 0:1] {
        eval panel(part ? "after training" : "before training: random", 0.1 + 0.36 * part, 0.41 + 0.36 * part, 0.14, 0.77)
        if (part == 0) {
            eval heading("Words that are used alike come together", \
                "Each word learned to predict the other words of sentences such as 井上 は 犬 を 飼う")
        }
        eval curves
        set key off
        set offsets graph 0.12, graph 0.12, graph 0.1, graph 0.1
        set xlabel say("first number")
        if (part == 0) { set ylabel say("second number") }
        set tics font ",18"
        if (part == 1) { set key font ",18" outside right center Left reverse samplen 1 noenhanced }
        plot for [k = 1:4] data using (of_kind(k)):4 with points pt mark(k) ps 1.6 lw 2.5 lc rgb color(k) \
                title say(NAMES[k]), \
             data using (of_side(0)):4:1 with labels right offset -1, 0 noenhanced font ",21" notitle, \
             data using (of_side(1)):4:1 with labels left offset 1, 0 noenhanced font ",21" notitle, \
             data using (of_side(2)):4:1 with labels center offset 0, -1 noenhanced font ",21" notitle
        set offsets
    }
    unset multiplot
}
unset output
