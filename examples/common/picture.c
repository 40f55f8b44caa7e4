/* picture.c: lets gnuplot draw. It runs inside the output folder, and the figure's own folder comes to it as the place
 * of the script, so no path has to be put into a command or a script. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* KAERU_PLOTS of the environment, or the folder that the build knows. */
static const char *plots_folder(void)
{
    const char *dir = getenv("KAERU_PLOTS");
    return dir && dir[0] ? dir : KAERU_PLOTS;
}

/* The script's path from the root, for gnuplot runs in another folder; free it. NULL (with a complaint) if missing. */
static char *find_script(const char *name)
{
    const char *dir = plots_folder();
    size_t room = strlen(dir) + strlen(name) + 8;
    char *path = ag_alloc(room, 1);
    snprintf(path, room, "%s/%s.gp", dir, name);
    char *full = realpath(path, NULL);
    if (!full) {
        const char *why = strerror(errno);
        example_complain("cannot draw: %s: %s (the environment variable KAERU_PLOTS names the folder)", path, why);
    }
    ag_free(path);
    return full;
}

/* Text as a shell would want it. */
static void print_quoted(const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-+,:=@";
    if (text[0] && text[strspn(text, plain)] == '\0') {
        fputs(text, stdout);
        return;
    }
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout);
        } else {
            putchar(*text);
        }
    }
    putchar('\'');
}

enum { NO_START = 126, NO_GNUPLOT = 127 };

/* gnuplot's exit status; NO_GNUPLOT if there is none, NO_START if it could not be started. */
static int run_gnuplot(const char *script, const char *folder)
{
    char *const argv[] = { "gnuplot", "-d", (char *)script, NULL };
    if (!example_utf8()) {
        setenv("LC_ALL", "C.UTF-8", 1);                               /* or gnuplot grumbles about the figures' UTF-8 */
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_RDONLY);
        if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || chdir(folder) != 0) {
            _exit(NO_START);
        }
        execvp("gnuplot", argv);
        _exit(errno == ENOENT ? NO_GNUPLOT : NO_START);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        return NO_START;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void picture_draw(const char *name)
{
    char *script = find_script(name);
    if (!script) {
        return;
    }
    char *base = example_path(name);
    int status = run_gnuplot(script, example_out());
    if (status == NO_GNUPLOT) {
        printf("picture: needs gnuplot: sudo apt install gnuplot-nox (Debian, Ubuntu), sudo dnf install gnuplot\n"
               "         (Fedora), brew install gnuplot (macOS). Then: (cd ");
        print_quoted(example_out());
        printf(" && gnuplot ");
        print_quoted(script);
        printf(")\n");
    } else if (status == NO_START) {
        example_complain("gnuplot could not be started");
    } else if (status != 0) {
        example_complain("gnuplot could not draw %s (status %d)", script, status);
    } else {
        printf("picture: %s.png, %s.svg\n", base, base);
    }
    free(script);
    ag_free(base);
}
