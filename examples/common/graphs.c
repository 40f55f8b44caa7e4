/* graphs.c: graphs by Graphviz: that of a loss as frames of its backward pass, and graphs that a program has written. */
#include "common.h"
#include "kaeru/graph.h"
#include "picture.h"

#include <string.h>

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
    char *table = example_japanese() ? picture_file("ja", "txt") : NULL;
    if (table) {
        captions_replace(source, table);
    }
    ag_free(table);
    Drawing result = picture_run(argv, source, f->name);
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
