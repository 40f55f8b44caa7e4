/* picture.c: runs gnuplot and Graphviz. They run in the output folder, and gnuplot gets the figure's script by its full path,
 * so no script contains a path. */
#include "common.h"
#include "host.h"
#include "kaeru/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The environment variable KAERU_PLOTS, or the folder of the source tree, or without that the folder beside the program. */
static const char *plots_folder(void)
{
    const char *dir = getenv("KAERU_PLOTS");
    if (dir && dir[0]) {
        return dir;
    }
    const char *beside = host_is_folder(KAERU_PLOTS) ? NULL : host_beside_program("plots");
    return beside ? beside : KAERU_PLOTS;
}

/* The full path of plots/NAME.TYPE, since gnuplot runs in another folder; free it. NULL, after a message, if it is missing. */
static char *find_file(const char *name, const char *type)
{
    const char *dir = plots_folder();
    size_t room = strlen(dir) + strlen(name) + strlen(type) + 3;
    char *path = ag_alloc(room, 1);
    snprintf(path, room, "%s/%s.%s", dir, name, type);
    char *full = host_full_path(path);
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

/* Whether a picture in the output folder ends with its format's last mark. gnuplot does not report a full disk. */
static bool is_complete(const char *name, const char *mark)
{
    char *path = example_path(name), end[17] = "";
    FILE *file = fopen(path, "rb");
    bool complete = file && fseek(file, -16, SEEK_END) == 0 && fread(end, 1, 16, file) == 16;
    if (file) {
        fclose(file);
    }
    ag_free(path);
    for (char *p = end; complete && p + strlen(mark) <= end + 16; p++) {
        if (memcmp(p, mark, strlen(mark)) == 0) {
            return true;
        }
    }
    return false;
}

/* Tells once that Japanese captions will be boxes. */
static void check_font(void)
{
    static bool checked = false;
    if (!checked && example_japanese() && !host_draws_japanese()) {
        example_warn("no font has Japanese letters, so pictures show boxes: sudo apt install fonts-vlgothic (Debian, Ubuntu), "
                     "or --language en");
    }
    checked = true;
}

enum { PICTURES = 2, PICTURE_NAME = 80 };

/* The files of a picture: NAME.png and NAME.svg. */
static void name_pictures(const char *name, char picture[PICTURES][PICTURE_NAME])
{
    snprintf(picture[0], PICTURE_NAME, "%.70s.png", name);
    snprintf(picture[1], PICTURE_NAME, "%.70s.svg", name);
}

void picture_must_be_output(const char *name)
{
    char picture[PICTURES][PICTURE_NAME];
    name_pictures(name, picture);
    for (int i = 0; i < PICTURES; i++) {
        char *path = example_path(picture[i]);
        if (!example_may_write(path, true)) {
            example_fail("%s", ag_error());
        }
        ag_free(path);
    }
}

typedef enum { DRAWN, NOT_INSTALLED, NOT_DRAWN } Drawing;
/* Draws NAME.png (unless gnuplot cannot) and NAME.svg from that source. If that fails, calls example_complain, but only once
 * for a program that cannot be started. */
static Drawing draw(const char *const argv[], const char *source, const char *name)
{
    static const char *not_started;
    char picture[PICTURES][PICTURE_NAME], said[HOST_SAID];
    if (not_started && strcmp(not_started, argv[0]) == 0) {
        return NOT_DRAWN;
    }
    name_pictures(name, picture);
    for (int i = 0; i < PICTURES; i++) {
        char *path = example_path(picture[i]);
        bool may_write = example_may_write(path, true);
        if (may_write) {
            host_remove_link(path);
        }
        ag_free(path);
        if (!may_write) {
            example_complain("%s", ag_error());
            return NOT_DRAWN;
        }
    }
    check_font();
    int error, status = host_run(argv, example_out(), &error, said);
    if (error == ENOENT && !host_installed(argv[0])) {
        return NOT_INSTALLED;
    }
    char *png = example_path(picture[0]);
    bool has_png = access(png, F_OK) == 0;
    ag_free(png);
    if (error) {
        not_started = argv[0];
        example_complain("%s could not be started: %s", argv[0], strerror(error));
    } else if (status != 0) {
        example_complain("%s could not draw %s (status %d)%s%s", argv[0], source, status, said[0] ? ": " : "", said);
    } else if ((has_png && !is_complete(picture[0], "IEND")) || !is_complete(picture[1], "</svg>")) {
        example_complain("%s could not write all of the pictures %s and %s: expected room for them in the folder %s", argv[0],
                         picture[0], picture[1], example_out());
    } else {
        if (said[0]) {
            example_warn("%s: %s", argv[0], said);
        }
        return DRAWN;
    }
    return NOT_DRAWN;
}

void picture_draw(const char *name)
{
    char *script = example_writes() ? find_file(name, "gp") : NULL;
    if (!script) {
        return;
    }
    char *base = example_path(name);
    const char *language = example_japanese() ? "language = 'ja'" : "language = 'en'";
    Drawing result = draw((const char *const[]){ "gnuplot", "-d", "-e", language, script, NULL }, script, name);
    if (result == NOT_INSTALLED) {
        say("picture: needs gnuplot: sudo apt install gnuplot-nox (Debian, Ubuntu), sudo dnf install gnuplot\n"
            "         (Fedora), brew install gnuplot (macOS), winget install gnuplot.gnuplot (Windows). Then: (cd ");
        print_quoted(example_out());
        printf(" && gnuplot ");
        if (example_japanese()) {
            printf("-e \"%s\" ", language);
        }
        print_quoted(script);
        printf(")\n");
    } else if (result == DRAWN) {
        say("picture: %s.png, %s.svg\n", base, base);
    }
    ag_free(script);
    ag_free(base);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

typedef struct { char name[64], dot[72], png[72], svg[72]; } FrameNames;

static FrameNames file_names(const char *name)
{
    FrameNames n;
    snprintf(n.name, sizeof n.name, "%.60s", name);
    snprintf(n.dot, sizeof n.dot, "%s.dot", n.name);
    snprintf(n.png, sizeof n.png, "%s.png", n.name);
    snprintf(n.svg, sizeof n.svg, "%s.svg", n.name);
    return n;
}

static FrameNames frame_names(const char *name, int i)
{
    char frame[64];
    snprintf(frame, sizeof frame, "%.40s_%02d", name, i);
    return file_names(frame);
}

/* Draws NAME.dot of the output folder as PNG and SVG. */
static Drawing draw_graph(const FrameNames *f)
{
    const char *const argv[] = { "dot", "-Gdpi=110", "-Tpng", "-o", f->png, "-Tsvg", "-o", f->svg, f->dot, NULL };
    char *source = example_path(f->dot);
    char *table = example_japanese() ? find_file("ja", "txt") : NULL;
    if (table) {
        captions_replace(source, table);
    }
    ag_free(table);
    Drawing result = draw(argv, source, f->name);
    ag_free(source);
    return result;
}

/* Returns the number of frames. */
static int write_frame(const char *name, int i, Tensor *loss)
{
    char *path = example_path(frame_names(name, i).dot);
    KaeruWriter *file = example_create(path);
    int frames = ag_graph_frame(kaeru_writer_stream(file), loss, i);
    example_close(file);
    ag_free(path);
    return frames;
}

void picture_frames(const char *name, Tensor *loss)
{
    int n = 1;
    Drawing result = DRAWN;
    for (int i = 0; i < n; i++) {
        n = write_frame(name, i, loss);
    }
    for (int i = 0; i < n && result == DRAWN; i++) {
        FrameNames f = frame_names(name, i);
        result = draw_graph(&f);
    }
    char *first = example_path(frame_names(name, 0).dot);
    int base = (int)strlen(first) - (int)strlen("00.dot");
    if (result == NOT_INSTALLED) {
        say("pictures: %.*s00.dot to %02d.dot need Graphviz: sudo apt install graphviz (Debian, Ubuntu), sudo dnf\n"
            "          install graphviz (Fedora), brew install graphviz (macOS), winget install Graphviz.Graphviz (Windows).\n"
            "          Then: dot -Tsvg -O ", base, first, n - 1);
        print_quoted(first);
        printf("\n");
    } else if (result == DRAWN) {
        say("pictures: %.*s00.png to %02d.png, and .svg\n", base, first, n - 1);
    }
    ag_free(first);
}

void picture_graph(const char *name)
{
    FrameNames f = file_names(name);
    char *source = example_path(f.dot);
    int base = (int)(strlen(source) - strlen(".dot"));
    Drawing result = draw_graph(&f);
    if (result == NOT_INSTALLED) {
        say("picture: %s needs Graphviz: sudo apt install graphviz (Debian, Ubuntu). Then: dot -Tsvg -O ", source);
        print_quoted(source);
        printf("\n");
    } else if (result == DRAWN) {
        say("picture: %.*s.png, %.*s.svg\n", base, source, base, source);
    }
    ag_free(source);
}
