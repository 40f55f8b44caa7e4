/* parameters.c: how many parameters of a Transformer are in feed-forward layers, how many in attention. */
#include <string.h>

#include "common/common.h"
#include "feed_forward/parameters.h"
#include "kaeru/gpt.h"
#include "kaeru/transformer.h"

/* The trainable numbers of a layer whose name contains this text. */
static double count(void *layer, const char *text)
{
    NnParameters *p = nn_parameters(layer);
    double sum = 0;
    for (int i = 0; i < p->n; i++) {
        sum += strstr(p->item[i].name, text) ? (double)tensor_numel(p->item[i].tensor) : 0;
    }
    ag_free(p);
    return sum;
}

static void show_row(Csv *csv, const char *name, double forward, double attend, double all)
{
    csv_named_row(csv, name, forward / 1e6, attend / 1e6, (all - forward - attend) / 1e6);
    say("  %-36s %9.0f of %9.0f: %4.1f %%\n", name, forward, all, 100 * forward / all);
}

void show_parameters(void)
{
    TransformerOptions o = transformer_defaults();
    TransformerEncoderLayer *e = transformer_encoder_layer_new(&o);
    TransformerDecoderLayer *d = transformer_decoder_layer_new(&o);
    GPTOptions g = gpt_defaults();
    double layers = (double)g.layers, gpt_all = gpt_size(&g);
    g.vocab = 30522;
    g.context = 512;
    double bert_all = gpt_size(&g) + 2.0 * (double)g.width;             /* and a vector for the first and the second sentence */
    g.layers = g.vocab = g.context = 1;
    GPT *gpt = gpt_new(g);
    double ef = count(e, "feed_forward"), ea = count(e, "attn"), df = count(d, "feed_forward"), da = count(d, "attn");
    double gf = count(gpt, "mlp"), ga = count(gpt, "attn");
    FILE *report = report_begin();
    nn_summary(e, report);
    report_end(report);
    say("\nThe share of the parameters that is in feed-forward layers:\n");
    Csv *csv = csv_open("feed_forward_parameters.csv", "model,feed_forward,attention,other");
    show_row(csv, "encoder layer", ef, ea, count(e, ""));
    show_row(csv, "decoder layer", df, da, count(d, ""));
    double f = 6 * (ef + df), a = 6 * (ea + da), all = 6 * (count(e, "") + count(d, "")) + 2.0 * 2 * (double)o.d_model;
    show_row(csv, "Transformer-base (6 + 6 layers)", f, a, all);
    show_row(csv, "the same and 37000 embeddings", f, a, all + 37000.0 * (double)o.d_model);
    show_row(csv, "layer of GPT-2", gf, ga, count(gpt, "h."));
    show_row(csv, "GPT-2 (12 layers + 50257 embeddings)", layers * gf, layers * ga, gpt_all);
    show_row(csv, "BERT-base (12 layers + embeddings)", layers * gf, layers * ga, bert_all);
    csv_close(csv);
    ag_free(e);
    ag_free(d);
    ag_free(gpt);
}
