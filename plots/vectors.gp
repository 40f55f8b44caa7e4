# vectors.gp: words as points in the plane, a matrix that moves a cloud of points, an inner product as a projection.
# Reads vectors_words.csv (token,x,y), vectors_map.csv (x,y,mapped_x,mapped_y) and vectors_projection.csv
# (a_x,a_y,b_x,b_y,foot_x,foot_y), which examples/vectors writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("vectors.gp")]."style.gp"

cloud = "vectors_map.csv"
vectors = "vectors_projection.csv"
stats cloud using 2 name "HEIGHT" nooutput
upper(y) = y > HEIGHT_mean
# The angle of each arrow in degrees, and a square at the end of the projection, at a right angle to a.
stats vectors using (ax = $1, ay = $2, bx = $3, by = $4, foot_x = $5, foot_y = $6) nooutput
degrees(x, y) = atan2(y, x) * 180 / pi
side = 0.12
ux = -side * ax / sqrt(ax ** 2 + ay ** 2)
uy = -side * ay / sqrt(ax ** 2 + ay ** 2)

plane = "set size ratio -1; set xtics 1; set ytics 1; set grid; set border 0; unset key; " \
    ."set zeroaxis lw 2 lc rgb gray; set xtics axis; set ytics axis; set tics font ',17'"

do for [format in FORMATS] {
    eval open_picture(format, "vectors", 1800, 840)
    dot = format eq "png" ? 0.8 : 0.5                   # points are larger in SVG
    set multiplot
    set style arrow 1 head filled size screen 0.012, 22 lw 4 lc rgb "#0072B2"
    set style arrow 2 head filled size screen 0.012, 22 lw 4 lc rgb "#D55E00"
    set style arrow 3 nohead lw 3 dt (6, 6) lc rgb gray
    set style arrow 4 head filled size screen 0.012, 22 lw 8 lc rgb "#009E73"

    eval panel("words are points", 0.02, 0.32, 0.04, 0.76)
    eval heading("Points, matrices and inner products in the plane", \
        "A Transformer does the same in hundreds of dimensions")
    eval plane
    set xrange [-2.3:2.3]
    set yrange [-2.3:2.3]
    plot "vectors_words.csv" using (0):(0):2:3 with vectors arrowstyle 1, \
         "" using (1.2 * $2):(1.22 * $3):1 with labels noenhanced

    eval panel("a matrix moves all points", 0.36, 0.64, 0.1, 0.76)
    set xtics border
    set ytics border
    set label say("before") at 1.2, -1.35 center textcolor rgb gray
    set label say("after") at -1.2, 2.25 center textcolor rgb gray
    set xrange [-1.9:2.3]
    set yrange [-1.6:2.6]
    plot cloud using (upper($2) ? $1 : NaN):2 with points pt 7 ps dot lc rgb "#0072B2", \
         cloud using (upper($2) ? NaN : $1):2 with points pt 5 ps dot lc rgb "#D55E00", \
         cloud using (upper($2) ? $3 : NaN):4 with points pt 7 ps dot lc rgb "#0072B2", \
         cloud using (upper($2) ? NaN : $3):4 with points pt 5 ps dot lc rgb "#D55E00"

    eval panel("a ⋅ b = |a| w, where w = |b| cos θ", 0.68, 0.98, 0.04, 0.76)
    set xtics axis
    set ytics axis
    set label "θ" at 0.42, 0.34
    set object 1 circle at 0, 0 size 0.36 arc [degrees(ax, ay):degrees(bx, by)] nowedge fillstyle empty \
        border rgb gray lw 2 front
    set object 2 polygon from foot_x, foot_y to foot_x + ux, foot_y + uy to foot_x + ux + uy, foot_y + uy - ux \
        to foot_x + uy, foot_y - ux to foot_x, foot_y fillstyle empty border rgb gray lw 2 front
    set label "a" at 2.05, 0.8
    set label "b" at 0.75, 1.75
    set label "w" at 0.72, 0.08
    set xrange [-0.4:2.4]
    set yrange [-0.6:2.2]
    # In SVG, two arrows of one width after each other lose the second one's style.
    plot vectors using (0):(0):3:4 with vectors arrowstyle 2, \
         vectors using 3:4:($5 - $3):($6 - $4) with vectors arrowstyle 3, \
         vectors using (0):(0):1:2 with vectors arrowstyle 1, \
         vectors using (0):(0):5:6 with vectors arrowstyle 4
    unset object
    unset multiplot
}
unset output
