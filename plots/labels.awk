# labels.awk: places the labels of points. Reads rows label,step,x,y with a header; -v first and n choose rows; left, right, low
# and high are the panel's axes, wide and tall its pixels. Prints a header and x,y,label. Of eight places around its point, a
# label takes the one where it covers least of the points and of the labels before it. Needs LC_ALL=C, so that length counts
# bytes: a Japanese letter has three.
# The length that two intervals share: the distance of their middles, the sum of their half lengths.
function overlap(distance, size) {
    if (distance < 0) distance = -distance
    return distance > size ? 0 : size - distance
}
NR > first + 1 && NR <= first + 1 + n {
    gsub(/"/, "", $1)
    label[++points] = $1
    half[points] = length($1) / 3 * 16 + 2              # pixels: a letter is 32 wide
    x[points] = ($3 - left) / (right - left) * wide
    y[points] = ($4 - low) / (high - low) * tall
}
END {
    print "x,y,label"
    split("1 -1 0 0 1 -1 1 -1", dx, " ")
    split("0 0 -1 1 -1 -1 1 1", dy, " ")
    for (i = 1; i <= points; i++) {
        least = -1
        for (k = 1; k <= 8; k++) {                      # of two equal places, the first one
            at_x = x[i] + dx[k] * (half[i] + (dy[k] ? 4 : 14))
            at_y = y[i] + dy[k] * 30
            covered = k
            for (j = 1; j <= points; j++) {
                covered += overlap(at_x - x[j], half[i] + 11) * overlap(at_y - y[j], 26)
                if (j < i) covered += overlap(at_x - label_x[j], half[i] + half[j]) * overlap(at_y - label_y[j], 30)
            }
            if (least < 0 || covered < least) {
                least = covered
                label_x[i] = at_x
                label_y[i] = at_y
            }
        }
        printf "%g,%g,%s\n", left + label_x[i] / wide * (right - left), low + label_y[i] / tall * (high - low), label[i]
    }
}
