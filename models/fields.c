/* fields.c: checks, reads and writes the fields of an options struct by a table of their types and ranges. */
#include "fields.h"

#include "file.h"

static double get(const Field *field, const void *options)
{
    const void *at = (const char *)options + field->offset;
    switch (field->kind) {
    case FIELD_INT:   return *(const int *)at;
    case FIELD_INT64: return (double)*(const int64_t *)at;
    case FIELD_BOOL:  return *(const bool *)at;
    default:          return *(const double *)at;
    }
}

static void set(const Field *field, void *options, double value)
{
    void *at = (char *)options + field->offset;
    switch (field->kind) {
    case FIELD_INT:   *(int *)at = (int)value; break;
    case FIELD_INT64: *(int64_t *)at = (int64_t)value; break;
    case FIELD_BOOL:  *(bool *)at = value != 0; break;
    default:          *(double *)at = value;
    }
}

static bool check(const Field *field, double value)
{
    if (value >= field->low && (field->half_open ? value < field->high : value <= field->high)) return true;
    const char *below = field->half_open ? "below " : "";
    if (field->kind == FIELD_DOUBLE)
        return ag_set_error("%s is %g, expected %g to %s%g", field->name, value, field->low, below, field->high);
    return ag_set_error("%s is %.0f, expected %.0f to %s%.0f", field->name, value, field->low, below, field->high);
}

bool fields_check(const Field *field, int n, const void *options)
{
    for (int i = 0; i < n; i++)
        if (!check(&field[i], get(&field[i], options))) return false;
    return true;
}

void fields_to_settings(const Field *field, int n, const void *options, NnSettings *s)
{
    for (int i = 0; i < n; i++) nn_settings_set(s, field[i].name, "%.17g", get(&field[i], options));
}

static bool read_field(const Field *field, const NnSettings *s, double *value)
{
    int64_t integer;
    if (field->kind == FIELD_DOUBLE) return nn_settings_real(s, field->name, value) && check(field, *value);
    if (!nn_settings_int(s, field->name, &integer)) return false;
    *value = (double)integer;
    return check(field, *value);
}

bool fields_from_settings(const Field *field, int n, void *options, const NnSettings *s)
{
    double value;
    for (int i = 0; i < n; i++)
        if (!read_field(&field[i], s, &value)) return false;
    for (int i = 0; i < n; i++)
        if (read_field(&field[i], s, &value)) set(&field[i], options, value);
    return true;
}

bool checkpoint_may_hold(const char *path, double parameters)
{
    File *file = file_open(path, false);
    if (!file) return false;
    double size = (double)file->size;
    ag_free(file);
    return parameters * 2 <= size ||
           ag_set_error("%s: %.0f bytes are too few for the model that its settings describe, of %.0f parameters or more",
                        path, size, parameters);
}

bool weights_may_hold(const NnTensorFile *f, double parameters)
{
    double numbers = 0;
    for (size_t i = 0; i < f->n_tensors; i++) numbers += (double)f->tensor[i].numel;
    return parameters <= numbers || ag_set_error("%s: has %.0f numbers, expected the %.0f of the config's model",
                                                 f->file->name, numbers, parameters);
}
