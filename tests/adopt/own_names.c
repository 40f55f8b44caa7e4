/* own_names.c: a program, in C or in C++, whose own types and macros have short names, beside kaeru's headers. */
#include <stdio.h>
#include <kaeru/kaeru.h>

#define PI       3.14159265
#define MAX_DIMS 4
#define LAYER(n) (n)

typedef double real;
typedef struct Shape { int width, height; } Shape;
typedef struct Site { const char *city; } Site;
typedef struct { real x, y, z; } Dims;
typedef enum DType { INT, REAL, BOOL, SCALAR } DType;
typedef struct { int volume; } Settings;
typedef struct { int n; } Parameters;
typedef struct Cache { Parameters *parameters; } Cache;
typedef struct { int points; } Score;
typedef struct KeysValues { const char *key; real value; } KeysValues;
typedef enum { SERIAL, SHARDS } Parallel;
typedef struct { int begin, end; } Scope;
typedef struct { Site site; Scope scope; } Line, Batch, Text, Vocab, Processes, TensorFile, Bpe;
enum Reduce { SUM, MEAN, NONE };

static real area(Shape shape) { return shape.width * shape.height; }

int main(void)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Shape shape = { 2, LAYER(3) };
    Parameters parameters = { MAX_DIMS };
    Cache cache = { &parameters };
    Dims dims = { area(shape), 0, PI };
    KeysValues pair = { "sum", tensor_item(ag_sum(tensor_full(SHAPE(shape.width, shape.height), dims.x))) };
    Settings settings = { SUM };
    Score score = { settings.volume + NONE };
    Line line = { { "Tokyo" }, { SCALAR, SHARDS } };
    ag_end(scope);
    printf("%s %g %s %d\n", pair.key, pair.value, line.site.city, cache.parameters->n + score.points);
    return pair.value == 36 ? 0 : 1;
}
