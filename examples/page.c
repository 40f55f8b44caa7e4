/* page.c: the models of the page in which the library itself runs, trained natively: both have the same SHA-256. */
#include "common/common.h"
#include "kaeru/autograd.h"
#include "common/sha256.h"
#include "page/training.h"

/* Prints the SHA-256 of a file that was just written. */
static void print_hash(const char *name, int64_t steps, double loss, const char *path)
{
    FILE *file = fopen(path, "rb");
    static char bytes[1 << 20];
    size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (!file || fclose(file) != 0 || n == 0 || n == sizeof bytes) example_fail("cannot read %s", path);
    char text[65];
    sha256(bytes, n, text);
    say("%-8s %lld steps, loss %.6f, %s %s\n", name, (long long)steps, loss, text, path);
}

static void train_spiral(void)
{
    SpiralOptions options = spiral_defaults();
    options.seed = (uint64_t)example_seed();
    SpiralRun *run = spiral_new(options);
    double loss = 0;
    for (int i = 0; i < SPIRAL_STEPS; i++) loss = spiral_step(run);
    char *path = example_path("page_spiral.safetensors");
    if (!spiral_save(run, path)) example_fail("%s", ag_error());
    print_hash("spiral", SPIRAL_STEPS, loss, path);
    ag_free(path);
    spiral_free(run);
}

static void train_sorter(Task task, const char *name, const char *file)
{
    SorterRun *run = sorter_new(task, (uint64_t)example_seed());
    double loss = 0;
    for (int i = 0; i < SORTER_STEPS; i++) loss = sorter_step(run);
    char *path = example_path(file);
    if (!sorter_save(run, path)) example_fail("%s", ag_error());
    print_hash(name, SORTER_STEPS, loss, path);
    ag_free(path);
    sorter_free(run);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "page",
        "Trains the models of the web page: the network of spiral.c, and a Transformer of 6,171 parameters that sorts or\n"
        "reverses six digits. Prints the SHA-256 of the files of their weights. The page trains the same models in the\n"
        "browser, and shows the same hashes as this program with the seed 0.\n\n"
        "sh examples/run.sh page also writes the page itself, out/page.html: one file, which opens by a double click.\n"
        "sh examples/run.sh page --publish FOLDER writes only a folder with the page for a static web server.",
        options });
    train_spiral();
    train_sorter(TASK_SORT, "sort", "page_sort.safetensors");
    train_sorter(TASK_REVERSE, "reverse", "page_reverse.safetensors");
    return example_end();
}
