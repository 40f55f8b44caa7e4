/* architectures.c: drawings of Seq2Seq, attention, the Transformer, GPT and BERT: shapes on the arrows, links to the code. */
#include <stdlib.h>
#include <string.h>

#include "architectures/figures.h"
#include "common/common.h"
#include "common/host.h"

/* The source tree as a path from the output folder, which must exist: the links still work if both move together. Free it. */
static char *source_from_out(void)
{
    const char *root = KAERU_SOURCE;
    char *out = host_full_path(example_out());
    size_t common = 0, up = 0;                                          /* folders that both are in; folders to go up */
    for (size_t i = 0; out; i++) {
        bool root_ends = root[i] == '/' || !root[i], out_ends = out[i] == '/' || !out[i];
        common = root_ends && out_ends ? i : common;
        if (root[i] != out[i] || !root[i]) {
            break;
        }
    }
    for (const char *p = out ? out + common : ""; *p; p++) {
        up += *p == '/';
    }
    const char *down = root + common + (out && root[common] == '/');
    char *path = ag_alloc(3 * up + strlen(down) + 2, 1);
    for (size_t i = 0; i < up; i++) {
        strcat(path, "../");
    }
    strcat(strcat(path, down), *down ? "/" : "");
    ag_free(out);
    return path;
}

static const char *color(char kind)
{
    switch (kind) {
    case 'a': return "#FBE0B8";
    case 'f': return "#CDE3F3";
    case 'n': return "#F4F1B4";
    case 'e': return "#F3D7E5";
    case 'r': return "#CDEBDD";
    case 'o': return "#E4DCF1";
    case 'g': return "#E8E8E8";
    default: return "white";
    }
}

static void write_box(FILE *f, const Box *b, const char *source)
{
    if (b->kind == 't') {
        fprintf(f, "  %s [label=\"%s\", shape=plaintext, style=\"\"];\n", b->id, b->label);
        return;
    }
    fprintf(f, "  %s [label=\"%s\", fillcolor=\"%s\", URL=\"%s%s\", target=\"_blank\", ", b->id, b->label, color(b->kind),
            source, b->file);
    if (b->function) {
        fprintf(f, "tooltip=\"%s (%s)\"];\n", b->function, b->file);
    } else {
        fprintf(f, "tooltip=\"%s\"];\n", b->file);
    }
}

static void write_figure(const Figure *figure)
{
    char name[64];
    snprintf(name, sizeof name, "architectures_%s.dot", figure->name);
    char *path = example_path(name), *source = source_from_out();
    KaeruWriter *writer = example_create(path);
    FILE *f = kaeru_writer_stream(writer);
    fprintf(f, "digraph %s {\n  graph [rankdir=BT, ", figure->name);
    if (figure->title) {
        fprintf(f, "label=\"%s\", labelloc=t, fontname=\"Sans\", fontsize=20, nodesep=0.4, ranksep=0.2];\n"
                   "  node [shape=box, style=\"filled,rounded\", fontname=\"Sans\", fontsize=15,\n"
                   "    margin=\"0.12,0.06\", height=0.4];\n"
                   "  edge [fontname=\"Sans\", fontsize=14, weight=8, fontcolor=\"#0A5C8F\", arrowsize=0.7];\n",
                figure->title);
    } else {
        fprintf(f, "fontname=\"Sans\", fontsize=26, nodesep=0.3, ranksep=0.02, margin=0.01];\n"
                   "  node [shape=box, style=\"filled,rounded\", fontname=\"Sans\", fontsize=26,\n"
                   "    margin=\"0.08,0.02\", height=0.28];\n"
                   "  edge [fontname=\"Sans\", fontsize=26, weight=8, fontcolor=\"#0A5C8F\", arrowsize=0.7];\n");
    }
    for (const Box *b = figure->box; b->id; b++) {
        write_box(f, b, source);
    }
    for (const Arrow *a = figure->arrow; a->from; a++) {
        fprintf(f, "  %s -> %s [label=\" %s\"%s%s];\n", a->from, a->to, a->label ? a->label : "", a->style ? ", " : "",
                a->style ? a->style : "");
    }
    fprintf(f, "%s}\n", figure->rows);
    example_close(writer);
    ag_free(source);
    ag_free(path);
    name[strlen(name) - strlen(".dot")] = '\0';
    picture_graph(name);
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, &(Program){ "architectures",
        "Draws the architectures that the lessons lead to, with Graphviz: Seq2Seq, Seq2Seq with attention, scaled\n"
        "dot-product and multi-head attention, the Transformer, GPT, and an encoder like BERT. Arrows have the shapes of the\n"
        "tensors. In the SVG files a click on a box opens the source file of its function.\n\n"
        "Writes architectures_NAME.dot, .png and .svg.", (const NnField[]){ NN_FIELDS_END } });
    say("B: sentences in a batch, S and T: words of the source and of the output, D: width of a vector, h: heads,\n"
        "K = D / h, V: words of the vocabulary. Transformer-base has D = 512, h = 8, K = 64, N = 6 layers.\n");
    for (int i = 0; i < figure_count; i++) {
        if (figures[i].title || example_slide()) {
            write_figure(&figures[i]);
        }
    }
    return example_end();
}
