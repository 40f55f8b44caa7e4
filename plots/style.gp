# style.gp: the style of kaeru's figures. A figure loads this file and is drawn in each format:
#
#     load ARG0[:strlen(ARG0) - strlen("NAME.gp")]."style.gp"
#     do for [format in FORMATS] {
#         eval open_picture(format, "NAME", 1600, 800)
#         plot ...
#     }
#     unset output
#
# By hand, in the folder of the data: gnuplot /path/to/plots/NAME.gp, or gnuplot -e "language = 'ja'" /path/to/plots/NAME.gp

set encoding utf8

# The figures have English captions; say(text) is the caption in the picture's language, from ja.txt. heading() and panel() call
# it. A caption with numbers is a format: sprintf(say("layer %d"), n). What is not in ja.txt stays as it is.
if (!exists("language")) { language = "en" }
captions = "\n"
if (language eq "ja") {
    set datafile separator "\t"
    japanese = ARG0[:strlen(ARG0) - strlen("style.gp")]."ja.txt"
    stats japanese using (captions = captions.strcol(1)."\n", 0) name "CAPTIONS" nooutput
}
line(text) = text[:strstrt(text, "\n") - 1]
found(at, text) = at == 0 ? text : line(captions[at + strlen("\n".text."\n= "):])
say(text) = found(strstrt(captions, "\n".text."\n= "), text)

set datafile separator comma
set datafile columnheaders

smaller(a, b) = a < b ? a : b
larger(a, b) = a > b ? a : b

# PNG for slides, SVG to scale. A gnuplot without Cairo uses the simpler png terminal, or draws only the SVG.
# With "Sans" the system chooses the typeface, and one for Japanese if it has any (Debian: fonts-vlgothic or
# fonts-noto-cjk). If it has none, Cairo does not draw boxes but damages the whole picture. So figures that are always
# partly Japanese set JAPANESE = 1 before they load this file; without such a font they use the simpler terminal.
no_font = (exists("JAPANESE") || language eq "ja") && \
    system("command -v fc-list >/dev/null && test -z \"$(fc-list :lang=ja family)\" && echo none") eq "none"
has(terminal) = strstrt(GPVAL_TERMINALS." ", " ".terminal." ") > 0
fine = has("pngcairo") && !no_font
FORMATS = (fine || has("png") ? "png " : "")."svg"
png_terminal = fine ? "pngcairo enhanced font 'Sans,22' rounded" : "png enhanced font 'Sans,18' rounded"
svg_terminal = "svg enhanced font 'sans-serif,22' rounded"
# SVG, the last format, draws points larger.
smaller_points = "; do for [type = 1:7] { set linetype type ps 0.9 }"
open_picture(format, name, width, height) = \
    "set terminal ".(format eq "png" ? png_terminal : svg_terminal) \
    .sprintf(" size %d,%d background rgb 'white'; set output '%s.%s'", width, height, name, format) \
    .(format eq "svg" ? smaller_points : "")
# For the back row of a room: the letters have the same share of the height in both formats, at least 4 % of 680.
open_slide(format, name, width, height) = format eq "svg" ? open_picture(format, name, 0.8 * width, 0.8 * height) \
    : open_picture(format, name, width, height)
font_note = no_font ? "set label 3 'Boxes stand for letters that no font has: sudo apt install fonts-vlgothic' " \
    ."at screen 0.5, 0.02 center textcolor rgb gray font ',14'" : ""
# A title and, in smaller letters, a subtitle, at the upper left of the picture.
heading(title, subtitle) = sprintf("set label 1 '{/:Bold=30 %s}' at screen 0.015, 0.94; ", say(title)) \
    .sprintf("set label 2 '%s' at screen 0.015, 0.87 textcolor rgb gray; ", say(subtitle)).font_note

# The colors of Okabe and Ito, which color-blind people and weak projectors can distinguish; each curve also has its own dash
# and marker. 1 is the reference, 2 the better way.
set linetype 1 lc rgb "#D55E00" lw 4 dt (12, 5)        pt 6  ps 1.6
set linetype 2 lc rgb "#0072B2" lw 4 dt solid          pt 7  ps 1.6
set linetype 3 lc rgb "#009E73" lw 4 dt (4, 4)         pt 8  ps 1.8
set linetype 4 lc rgb "#E69F00" lw 4 dt (16, 4, 4, 4)  pt 5  ps 1.6
set linetype 5 lc rgb "#CC79A7" lw 4 dt (8, 8)         pt 10 ps 1.8
set linetype 6 lc rgb "#56B4E9" lw 4 dt (2, 4)         pt 13 ps 2.0
set linetype 7 lc rgb "#000000" lw 4 dt (20, 8)        pt 4  ps 1.6
set linetype cycle 7

# Axes only on the left and below, with a light grid behind the curves.
gray = "#555555"
curves = "set border 3 lw 1.5 lc rgb gray; set grid back lw 1 lc rgb '#DDDDDD'; set style fill solid noborder; " \
    ."set key inside top right vertical noautotitle samplen 3 spacing 1.4 noenhanced; " \
    ."set xtics autofreq; set ytics autofreq; set xrange [*:*]; set yrange [*:*] noreverse"
eval curves
set tics nomirror out scale 0.7 textcolor rgb gray

# Losses can diverge. band_low(c) and band_high(c) are a band from column c to column c + 1, without the rows where a loss has
# diverged.
finite(v) = v > 0 && v < 1e30 ? v : NaN
band_low(c) = column(c + 1) < 1e30 ? column(c) : NaN
band_high(c) = finite(column(c + 1))

# Heat maps: `rising` for values from 0 up (viridis, which keeps its order in gray), `signed` for negative and positive values
# with white at 0. Row 0 is on top. Many cells are plotted `with image`, few cells as boxes:
# `using x:y:(CELL):(CELL):z with @BOXES`. `eval curves` sets the axes again after a heat map.
CELL = 0.47
BOXES = "boxxyerror fillcolor palette fillstyle solid noborder"
rising = "0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725'"
signed = "0 '#0072B2', 1 '#8FBFDD', 2 '#FFFFFF', 3 '#EFB48F', 4 '#D55E00'"
heat_map(colors, columns, rows) = "set palette defined (".colors."); unset grid; unset key; set border 15; " \
    .sprintf("set xrange [-0.5:%f]; set yrange [%f:-0.5] noreverse", columns - 0.5, rows - 0.5)

# One of several figures in a picture: its title, and its edges as shares of the picture's width and height.
panel(title, left, right, bottom, top) = sprintf("set title \"%s\"; " \
    ."set lmargin at screen %f; set rmargin at screen %f; set bmargin at screen %f; set tmargin at screen %f; " \
    ."unset label; unset xlabel; unset ylabel", say(title), left, right, bottom, top)
