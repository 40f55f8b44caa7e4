/* trace_json.c: a graph and its backward pass, step by step, as JSON for the page to draw.
 * ag_explain prints the same as text. */
#include "engine.h"
#include "gradients.h"
#include "op.h"
#include "tensor_struct.h"
#include "trace.h"

/* What the rule reads of the inputs and the result, by number of the node. */
static void json_read(const Tensor *y)
{
    const char *comma = "";
    printf("\"reads\":[");
    for (int j = 0; j < y->n_in; j++)
        if (y->in[j] && reads_input(y, j)) {
            printf("%s%u", comma, (unsigned)y->in[j]->origin.number);
            comma = ",";
        }
    if (y->op->needs & NEEDS_Y)
        printf("%s%u", comma, (unsigned)y->origin.number);
    printf("]");
}

static void json_node(const Trace *trace, uint32_t i)
{
    const Tensor *t = trace->node[i];
    printf("{\"symbol\":\"%s\",\"name\":\"%s\",\"leaf\":%s,\"trained\":%s,\"uses\":%d,\"shape\":[",
           trace->symbol[i], t->origin.name ? t->origin.name : "", t->op ? "false" : "true",
           t->requires_grad ? "true" : "false", trace->uses[i]);
    for (int d = 0; d < t->shape.ndim; d++)
        printf("%s%lld", d ? "," : "", (long long)t->shape.dim[d]);
    printf("],");
    json_reals("value", t->dtype == AG_REAL ? t->data : NULL, t->numel);
    if (t->op) {
        printf(",\"op\":\"%s\",\"in\":[", t->op->name);
        for (int j = 0; j < t->n_in; j++)
            printf("%s%d", j ? "," : "", t->in[j] ? (int)t->in[j]->origin.number : -1);
        printf("],\"forward\":\"");
        trace_formula(stdout, trace, i, t->op->forward_text, ":", NULL);
        printf("\",\"backward\":\"");
        trace_formula(stdout, trace, i, t->op->backward_text, "", NULL);
        printf("\",");
        json_read(t);
    }
    printf("}");
}

/* The gradients that one rule gives: for each input its part, what was there before, and the sum. */
static void json_step(const Trace *trace)
{
    const Tensor *y = trace->node[trace->at_node];
    const char *comma = "";
    printf("{\"node\":%u,", (unsigned)trace->at_node);
    json_reals("dy", grad_of(trace->copy[y->origin.number]), y->numel);
    printf(",\"gives\":[");
    for (int j = 0; j < y->n_in; j++) {
        if (!trace->part[j]) continue;
        const Tensor *x = y->in[j];
        printf("%s{\"node\":%u,\"input\":%d,", comma, (unsigned)x->origin.number, j);
        json_reals("part", trace->part[j]->data, x->numel);
        putchar(',');
        json_reals("before", trace->before[j] ? trace->before[j]->data : NULL, x->numel);
        putchar(',');
        json_reals("sum", grad_of(trace->copy[x->origin.number]), x->numel);
        printf("}");
        comma = ",";
    }
    printf("]}");
}

void json_trace(Tensor *loss)
{
    Trace trace = trace_begin("json_trace", loss);
    printf("\"nodes\":[");
    for (uint32_t i = 0; i < trace.n; i++) {
        if (i) putchar(',');
        json_node(&trace, i);
    }
    printf("],\"steps\":[");
    for (int k = 0; trace_step(&trace); k++) {
        if (k) putchar(',');
        json_step(&trace);
    }
    printf("]");
    trace_end(&trace);
}
