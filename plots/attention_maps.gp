# attention_maps.gp: the attention of every layer and head, with the tokens on the axes. The figures translate_*.gp set
# `kind` (of the file's rows), `name`, `title`, `subtitle`, `row_label` and `column_label` and load this.
# Reads translate_attention.csv (kind,layer,head,row,column,weight,row_token,column_token), which examples/translate
# writes.
data = "translate_attention.csv"
is_kind(k) = k eq kind
stats data using (is_kind(stringcolumn(1)) ? $2 : NaN) name "LAYER" nooutput
stats data using (is_kind(stringcolumn(1)) ? $3 : NaN) name "HEAD" nooutput
stats data using (is_kind(stringcolumn(1)) ? $4 : NaN) name "ROW" nooutput
stats data using (is_kind(stringcolumn(1)) ? $5 : NaN) name "COLUMN" nooutput
layers = LAYER_max + 1
heads = HEAD_max + 1
# The tokens of the first map, each followed by a tab.
rows = ""
columns = ""
is_first(n) = is_kind(stringcolumn(1)) && $2 == 0 && $3 == 0 && n == 0
stats data using (is_first($5) ? (rows = rows.stringcolumn(7)."\t", 0) : NaN) name "UNUSED" nooutput
stats data using (is_first($4) ? (columns = columns.stringcolumn(8)."\t", 0) : NaN) name "UNUSED" nooutput
# A label is a format, in which %% stands for %.
plain(s) = strstrt(s, "%") ? s[1:strstrt(s, "%")]."%".plain(s[strstrt(s, "%") + 1:]) : s
first(list) = plain(list[1:strstrt(list, "\t") - 1])
# A decoder does not see words that are not yet written: these cells stay empty.
is_masked(row, column) = kind eq "decoder" && column > row
cell(layer, head, value) = is_kind(stringcolumn(1)) && $2 == layer && $3 == head && !is_masked($4, $5) ? value : NaN

# Sizes in shares of the picture. The words stand once, on the left of the first maps and below the last ones; two layers of
# four heads fill a slide.
width = 490 * (heads > 4 ? heads : 4) + 370         # the title needs that of four heads
height = 515 * layers + 310
left(head) = (190. + 490 * head) / width
top(layer) = 1 - (200. + 515 * layer) / height

do for [format in FORMATS] {
    eval open_picture(format, name, width, height)
    set multiplot
    do for [layer = 0:layers - 1] {
        is_last = layer == layers - 1
        do for [head = 0:heads - 1] {
            eval panel(sprintf(say("layer %d, head %d"), layer + 1, head + 1), left(head), left(head) + 455. / width, \
                top(layer) - 430. / height, top(layer))
            set title offset 0, -0.4 font ",27"
            if (layer == 0 && head == 0) {
                set label 1 "{/:Bold=36 ".say(title)."}" at screen 24. / width, 1 - 45. / height
                set label 2 say(subtitle) at screen 24. / width, 1 - 105. / height font ",26" textcolor rgb gray
                eval font_note
            }
            eval heat_map(rising, COLUMN_max + 1, ROW_max + 1)
            set cbrange [0:1]
            set cbtics 0.5 font ",26"
            set format cb "%.1f"
            unset colorbox
            if (head == heads - 1 && layer == 0) {
                set colorbox user origin screen left(heads) + 60. / width, top(0) - 430. / height \
                    size 16. / width, 430. / height
            }
            set xtics () rotate by 60 right font ",28" scale 0 noenhanced
            set ytics () font ",28" scale 0 noenhanced
            rest = columns
            do for [i = 0:COLUMN_max] {
                set xtics add (is_last ? first(rest) : "" i)
                rest = rest[strstrt(rest, "\t") + 1:]
            }
            rest = rows
            do for [i = 0:ROW_max] {
                set ytics add (head == 0 ? first(rest) : "" i)
                rest = rest[strstrt(rest, "\t") + 1:]
            }
            plot data using (cell(layer, head, $5)):(cell(layer, head, $4)):(CELL):(CELL):6 with @BOXES
        }
    }
    unset multiplot
}
unset output
