/* mpi_threads.c: prints how many threads each process has after nn_mpi_begin. Fails if the timer of the program, its handler of
 * SIGALRM or its handler of usage errors is not as it was. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "kaeru/mpi.h"

static bool is_as_before;

static void alarmed(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
}

_Noreturn static void leave(const char *message)
{
    (void)message;
    exit(is_as_before ? 0 : 1);
}

int main(void)
{
    struct itimerval timer = { .it_value = { 1000, 0 } };
    struct sigaction action = { .sa_sigaction = alarmed, .sa_flags = SA_SIGINFO };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    ag_on_usage_error(leave);
    NnProcesses *p = nn_mpi_begin();
    printf("%d\n", ag_threads());
    if (p) p->end(p);
    getitimer(ITIMER_REAL, &timer);
    sigaction(SIGALRM, NULL, &action);
    is_as_before = timer.it_value.tv_sec > 900 && action.sa_sigaction == alarmed && (action.sa_flags & SA_SIGINFO);
    tensor_zeros(SHAPE(-1));                                    /* a usage error, which calls leave */
    return 1;
}
