# bench.gp: how many times faster kaeru is than other frameworks, by workload.
# Reads bench.csv (workload,peer,unit,kaeru,other,ratio,low,high,...,machine), which tests/bench/compare.py writes.
load ARG0[:strlen(ARG0) - strlen("bench.gp")]."style.gp"

data = "bench.csv"
begins = "workload,peer,unit,kaeru,other,ratio,low,high,"
if (system(sprintf("sed -n '1{/^%s/!q;}; 2p' %s 2>/dev/null", begins, data)) eq "") {
    print sprintf("bench.gp: no results in %s: expected lines below %s..., as python3 tests/bench/compare.py writes them", \
        data, begins)
    exit status 1
}

# The peers in the order of their first appearance, the workloads from top to bottom, and the machine.
peers = ""
last = ""
rows = 0
names = ""
machine = ""
note(name) = (strstrt(peers, "|".name."|") ? 0 : (peers = peers.(peers eq "" ? "|" : "").name."|"), 0)
count(workload) = (workload eq last ? 0 : \
    (last = workload, rows = rows + 1, names = names.sprintf("%s'%s' %d", rows > 1 ? ", " : "", workload, -rows)), 0)
look(unused) = note(strcol("peer")) + count(strcol("workload"))
stats data using (look(0), machine = strcol("machine"), column("low")) name "LOW" nooutput
stats data using "high" name "HIGH" nooutput
peer_count = 0
do for [i = 1:strlen(peers)] { if (peers[i:i] eq "|") { peer_count = peer_count + 1 } }
peer_count = peer_count - 1
peer_name(i) = (rest = peers[2:], skip_names(i - 1), rest[:strstrt(rest, "|") - 1])
skip_names(n) = n < 1 ? 0 : (rest = rest[strstrt(rest, "|") + 1:], skip_names(n - 1))

# The position of a row of the file; the peers of one workload are next to each other.
line_of(workload) = (workload eq last ? 0 : (last = workload, line = line + 1), -line)
shift(i) = 0.22 * ((peer_count - 1) / 2.0 - (i - 1))

set logscale x
set xlabel "times faster (the bar: the least and the most of the rounds)"
set xrange [(LOW_min < 1 ? LOW_min : 1) / 1.3 : HIGH_max * 1.3]
set yrange [-rows - 0.6 : -0.4]
eval "set ytics noenhanced (".names.")"
set xtics (0.5, 1, 2, 3, 5, 10, 20, 50, 100)
set lmargin 16
set tmargin at screen 0.82
set key at screen 0.98, 0.965 right
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lw 2 lc rgb gray back

do for [format in FORMATS] {
    eval open_picture(format, "bench", 1600, 1000)
    eval heading("Times faster than ".(peer_count == 1 ? peer_name(1) : "other frameworks"), machine)
    plot for [i = 1:peer_count] last = "", line = 0, data \
        using (line_now = line_of(strcol("workload")), strcol("peer") eq peer_name(i) ? column("ratio") : NaN) \
        :(line_now + shift(i)):"low":"high" \
        with xerrorbars lt (peer_count == 1 ? 2 : i) title (peer_count == 1 ? "" : peer_name(i))
}
unset output
