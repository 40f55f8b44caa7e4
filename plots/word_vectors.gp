# word_vectors.gp: the vectors of words before and after they learned to predict their neighbors.
# Reads word_vectors.csv (word,step,x,y), which examples/word_vectors writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("word_vectors.gp")]."style.gp"

data = "word_vectors.csv"
array NAMES = ["people: Inoue, Omori, Tanaka", "animals: dog, cat, bird", "food: bread, fish, rice", "verbs: keep, eat"]
is_shown(n) = n >= part * WORDS && n < (part + 1) * WORDS
of_kind(k) = is_shown(column(0)) && kind(column(0) - part * WORDS) == k ? column(3) : NaN
WORDS = 11
# people, animals, food, verbs
kind(n) = n < 3 ? 1 : n < 6 ? 2 : n < 9 ? 3 : 4
mark(k) = int(word("6 4 8 12", k))
color(k) = word("#D55E00 #0072B2 #009E73 #777777", k)

# The panels have 684 by 522 pixels.
options = "-v first=%d -v n=%d -v left=%g -v right=%g -v low=%g -v high=%g -v wide=684 -v tall=522"
program = ARG0[:strlen(ARG0) - strlen("word_vectors.gp")]."labels.awk"
# For a shell, an apostrophe in the path ends the quotes, and one of its own follows.
quoted(s) = strstrt(s, "'") ? s[1:strstrt(s, "'")]."\\''".quoted(s[strstrt(s, "'") + 1:]) : s
place(options) = "< LC_ALL=C awk -F, ".options." -f '".quoted(program)."' ".data

do for [format in FORMATS] {
    eval open_picture(format, "word_vectors", 1800, 950)
    set multiplot
    do for [part = 0:1] {
        eval panel(part ? "after training" : "before training: random", 0.095 + 0.48 * part, 0.475 + 0.48 * part, 0.22, 0.77)
        if (part == 0) {
            eval heading("Words that are used alike come together", \
                "Each word learned to predict the other words of sentences such as 井上 は 犬 を 飼う")
        }
        eval curves
        set key off
        stats data using 3 every ::(part * WORDS)::(part * WORDS + WORDS - 1) name "X" nooutput
        stats data using 4 every ::(part * WORDS)::(part * WORDS + WORDS - 1) name "Y" nooutput
        left = X_min - 0.18 * (X_max - X_min)
        right = X_max + 0.18 * (X_max - X_min)
        low = Y_min - 0.1 * (Y_max - Y_min)
        high = Y_max + 0.1 * (Y_max - Y_min)
        set xrange [left:right]
        set yrange [low:high]
        set xlabel say("first number")
        if (part == 0) { set ylabel say("second number") }
        set tics font ",18"
        if (part == 1) {
            do for [k = 1:4] {
                set label 10 + k say(NAMES[k]) at screen 0.1 + 0.23 * (k - 1), 0.045 left offset 1, 0 noenhanced \
                    point pt mark(k) ps 1.6 lw 2.5 lc rgb color(k) font ",18"
            }
        }
        plot for [k = 1:4] data using (of_kind(k)):4 with points pt mark(k) ps 1.6 lw 2.5 lc rgb color(k), \
             place(sprintf(options, part * WORDS, WORDS, left, right, low, high)) using 1:2:3 \
                with labels center noenhanced font ",24"
    }
    unset multiplot
}
unset output
