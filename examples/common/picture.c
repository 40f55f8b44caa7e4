/* picture.c: runs gnuplot and, for graphs.c, Graphviz. They run in the output folder, and gnuplot gets the figure's script by
 * its full path, so no script contains a path. */
#include "common.h"
#include "host.h"
#include "picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The end of the name of a picture for a slide. */
#define SLIDE "_slide"

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

/* plots/NAME.TYPE; free it. */
static char *plots_path(const char *name, const char *type)
{
    const char *dir = plots_folder();
    size_t room = strlen(dir) + strlen(name) + strlen(type) + 3;
    char *path = ag_alloc(room, 1);
    snprintf(path, room, "%s/%s.%s", dir, name, type);
    return path;
}

char *picture_file(const char *name, const char *type)
{
    char *path = plots_path(name, type);
    char *full = host_full_path(path);
    if (!full) {
        const char *why = strerror(errno);
        example_complain("cannot draw: %s: %s (the environment variable KAERU_PLOTS names the folder)", path, why);
    }
    ag_free(path);
    return full;
}

void print_quoted(const char *text)
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

static bool has_slide;

bool picture_has_slide(void)
{
    return has_slide;
}

Drawing picture_run(const char *const argv[], const char *source, const char *name)
{
    static const char *not_started;
    char picture[PICTURES][PICTURE_NAME], said[HOST_SAID];
    has_slide = has_slide || (strlen(name) > strlen(SLIDE) && strcmp(name + strlen(name) - strlen(SLIDE), SLIDE) == 0);
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

/* Draws NAME by plots/NAME.gp. */
static void draw(const char *name)
{
    char *script = example_writes() ? picture_file(name, "gp") : NULL;
    if (!script) {
        return;
    }
    char *base = example_path(name);
    const char *language = example_japanese() ? "language = 'ja'" : "language = 'en'";
    Drawing result = picture_run((const char *const[]){ "gnuplot", "-d", "-e", language, script, NULL }, script, name);
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

void picture_draw(const char *name)
{
    draw(name);
    if (!example_slide()) {
        return;
    }
    char slide[PICTURE_NAME];
    snprintf(slide, sizeof slide, "%.60s%s", name, SLIDE);
    char *script = plots_path(slide, "gp");
    if (host_is_file(script)) {
        draw(slide);
    }
    ag_free(script);
}
