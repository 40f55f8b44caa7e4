/* picture.c: runs gnuplot and Graphviz. They run in the output folder, and gnuplot gets the figure's script by its full path,
 * so no script contains a path. */
#include "common.h"
#include "kaeru/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The environment variable KAERU_PLOTS, or the folder of the source tree. */
static const char *plots_folder(void)
{
    const char *dir = getenv("KAERU_PLOTS");
    return dir && dir[0] ? dir : KAERU_PLOTS;
}

/* The full path of the script, since gnuplot runs in another folder; free it. NULL, after a message, if it is missing. */
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

/* Prints a text quoted for the shell. */
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

enum { NO_START = 126, NO_PROGRAM = 127 };

/* Runs a program in a folder; returns its exit status, NO_PROGRAM if there is none, NO_START if it could not be started. */
static int run(const char *const argv[], const char *folder)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_RDONLY);
        if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || chdir(folder) != 0) {
            _exit(NO_START);
        }
        execvp(argv[0], (char *const *)argv);
        _exit(errno == ENOENT ? NO_PROGRAM : NO_START);
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
    if (!example_utf8()) {
        setenv("LC_ALL", "C.UTF-8", 1);                               /* or gnuplot warns about the figures' UTF-8 */
    }
    int status = run((const char *const[]){ "gnuplot", "-d", script, NULL }, example_out());
    if (status == NO_PROGRAM) {
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

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

typedef struct { char dot[64], png[64], svg[64]; } FrameNames;

static FrameNames frame_names(const char *name, int i)
{
    FrameNames n;
    snprintf(n.dot, sizeof n.dot, "%.40s_%02d.dot", name, i);
    snprintf(n.png, sizeof n.png, "%.40s_%02d.png", name, i);
    snprintf(n.svg, sizeof n.svg, "%.40s_%02d.svg", name, i);
    return n;
}

static void write_frame(const char *name, int i, Tensor *loss)
{
    char *path = example_path(frame_names(name, i).dot);
    FILE *f = fopen(path, "w");
    if (!f) {
        example_fail("cannot write %s: %s", path, strerror(errno));
    }
    ag_graph_frame(f, loss, i);
    example_close(f, path);
    ag_free(path);
}

void picture_frames(const char *name, Tensor *loss)
{
    int n = ag_graph_frames(loss), status = 0;
    for (int i = 0; i < n; i++) {
        write_frame(name, i, loss);
    }
    for (int i = 0; i < n && status == 0; i++) {
        FrameNames f = frame_names(name, i);
        const char *const argv[] = { "dot", "-Gdpi=110", "-Tpng", "-o", f.png, "-Tsvg", "-o", f.svg, f.dot, NULL };
        status = run(argv, example_out());
    }
    char *first = example_path(frame_names(name, 0).dot);
    int base = (int)strlen(first) - (int)strlen("00.dot");
    if (status == NO_PROGRAM) {
        printf("pictures: %.*s00.dot to %02d.dot need Graphviz: sudo apt install graphviz (Debian, Ubuntu), sudo dnf\n"
               "          install graphviz (Fedora), brew install graphviz (macOS). Then: dot -Tsvg -O ", base, first,
               n - 1);
        print_quoted(first);
        printf("\n");
    } else if (status == NO_START) {
        example_complain("dot could not be started");
    } else if (status != 0) {
        example_complain("dot could not draw %s (status %d)", first, status);
    } else {
        printf("pictures: %.*s00.png to %02d.png, and .svg\n", base, first, n - 1);
    }
    ag_free(first);
}
