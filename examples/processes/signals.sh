# signals.sh: a function for scripts that start mpirun, to be read with `.`.
# shellcheck shell=sh

# pass_signals COMMAND...: runs mpirun, and passes SIGTERM and SIGUSR1 on to it as SIGUSR1, which it forwards to its processes:
# they save and end with status 75. After a SIGTERM of its own, the mpirun of Open MPI would kill them within two seconds and
# end with 1. Returns the status of mpirun.
pass_signals() {
    "$@" &
    _child=$!
    trap 'kill -USR1 $_child' TERM USR1
    trap : INT                                              # the terminal sends it to mpirun, too
    while :; do
        wait $_child
        _status=$?
        kill -0 $_child 2>/dev/null || break                # wait also returns when a signal has come
    done
    [ "$_status" -le 128 ] ||
        echo "A process was ended by signal $((_status - 128)), and mpirun ended the others." >&2
    return "$_status"
}
