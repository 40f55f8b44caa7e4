/* figures.c: the boxes and arrows of each drawing. */
#include "figures.h"

#include <stddef.h>

#define S2S "models/seq2seq/seq2seq.c"
#define TR "models/transformer.c"
#define ATT "nn/attention.c"
#define REC "nn/more/recurrent.c"
#define GPT_C "models/gpt.c"
#define SKIP "examples/skip_connection.c"
/* A frame around boxes, with its label at the top. */
#define FRAME "labelloc=b; fontsize=15; style=rounded; "
#define SLIDE_FRAME "labelloc=b; fontsize=26; margin=4; style=rounded; "
/* An arrow around a part, on the right or on the left. */
#define AROUND "style=dashed, tailport=e, headport=e, weight=1"
#define LEFT_AROUND "style=dashed, tailport=w, headport=w, weight=1"

const Figure figures[] = {
    { "seq2seq", "Seq2Seq: one vector of fixed size is all that the decoder knows of the sentence",
      "  nodesep=0.15;\n  {rank=same; w1; w2; w3; w4; v1; v2; v3; v4; v5}\n  {rank=same; s1; s2; s3; s4; h1; h2; h3; h4; h5}\n"
      "  {rank=same; y1; y2; y3; y4; y5}\n",
      { { 't', "w1", "This", NULL, NULL }, { 't', "w2", "is", NULL, NULL }, { 't', "w3", "a", NULL, NULL },
        { 't', "w4", "pen", NULL, NULL }, { 't', "v1", "<s>", NULL, NULL }, { 't', "v2", "これ", NULL, NULL },
        { 't', "v3", "は", NULL, NULL }, { 't', "v4", "ペン", NULL, NULL }, { 't', "v5", "です", NULL, NULL },
        { 'r', "s1", "GRU", "read_source", S2S }, { 'r', "s2", "GRU", NULL, S2S }, { 'r', "s3", "GRU", NULL, S2S },
        { 'r', "s4", "GRU", NULL, S2S }, { 'r', "h1", "GRU", "decoder_step", S2S }, { 'r', "h2", "GRU", NULL, S2S },
        { 'r', "h3", "GRU", NULL, S2S }, { 'r', "h4", "GRU", NULL, S2S }, { 'r', "h5", "GRU", NULL, S2S },
        { 't', "y1", "これ", NULL, NULL }, { 't', "y2", "は", NULL, NULL }, { 't', "y3", "ペン", NULL, NULL },
        { 't', "y4", "です", NULL, NULL }, { 't', "y5", "</s>", NULL, NULL } },
      { { "w1", "s1", "(B,D)", NULL }, { "w2", "s2", NULL, NULL }, { "w3", "s3", NULL, NULL }, { "w4", "s4", NULL, NULL },
        { "v1", "h1", "(B,D)", NULL }, { "v2", "h2", NULL, NULL }, { "v3", "h3", NULL, NULL }, { "v4", "h4", NULL, NULL },
        { "v5", "h5", NULL, NULL }, { "s1", "s2", "s1 (B,D)", NULL }, { "s2", "s3", "s2", NULL }, { "s3", "s4", "s3", NULL },
        { "s4", "h1", "the fixed\\nvector\\n(B,D)", "penwidth=3, color=\"#D55E00\"" }, { "h1", "h2", "h1", NULL },
        { "h2", "h3", "h2", NULL }, { "h3", "h4", "h3", NULL }, { "h4", "h5", "h4", NULL }, { "h1", "y1", "(B,V)", NULL },
        { "h2", "y2", NULL, NULL }, { "h3", "y3", NULL, NULL }, { "h4", "y4", NULL, NULL }, { "h5", "y5", NULL, NULL } } },

    { "seq2seq_attention", "Seq2Seq with attention: one step of the decoder looks at all states of the encoder",
      "  {rank=same; s1; s2; s3; s4; s5; h}\n",
      { { 't', "w1", "This", NULL, NULL }, { 't', "w2", "is", NULL, NULL }, { 't', "w3", "a", NULL, NULL },
        { 't', "w4", "pen", NULL, NULL }, { 't', "w5", ".", NULL, NULL },
        { 'r', "s1", "GRU", "read_source", S2S }, { 'r', "s2", "GRU", NULL, S2S }, { 'r', "s3", "GRU", NULL, S2S },
        { 'r', "s4", "GRU", NULL, S2S }, { 'r', "s5", "GRU", NULL, S2S },
        { 'r', "h", "GRU of the decoder\\nstate h_i", "decoder_step", S2S },
        { 'a', "score", "scores of s_1 ... s_N and h_i", "nn_score", ATT },
        { 'a', "softmax", "softmax: a_i(1) ... a_i(N)", "context", S2S },
        { 'a', "context", "context c_i = sum of a_i(j) s_j", "context", S2S },
        { 't', "word", "the word before, ペン", NULL, NULL },
        { 'r', "next", "GRU of the decoder\\nstate h_i+1", "nn_recurrent_step", REC },
        { 'o', "out", "Linear, softmax", "decoder_step", S2S }, { 't', "y", "the next word, です", NULL, NULL } },
      { { "w1", "s1", "(B,D)", NULL }, { "w2", "s2", NULL, NULL }, { "w3", "s3", NULL, NULL }, { "w4", "s4", NULL, NULL },
        { "w5", "s5", NULL, NULL }, { "s1", "s2", NULL, NULL }, { "s2", "s3", NULL, NULL }, { "s3", "s4", NULL, NULL },
        { "s4", "s5", NULL, NULL }, { "s5", "h", "(B,D)", "style=dashed" }, { "s1", "score", "s_1 (B,D)", NULL },
        { "s2", "score", NULL, NULL }, { "s3", "score", NULL, NULL }, { "s4", "score", NULL, NULL },
        { "s5", "score", "s_N (B,D)", NULL }, { "s1", "context", "s_1 ... s_N\n(B,S,D)", "style=dashed" },
        { "h", "score", "h_i (B,D)", "color=\"#D55E00\", penwidth=2" },
        { "score", "softmax", "(B,1,S)", NULL }, { "softmax", "context", "(B,1,S)", NULL },
        { "context", "next", "c_i (B,D)", "color=\"#D55E00\", penwidth=2" }, { "word", "next", "(B,D)", NULL },
        { "h", "next", "h_i (B,D)", NULL }, { "next", "out", "(B,D)", NULL }, { "out", "y", "(B,V)", NULL } } },

    { "attention", "Scaled dot-product attention (left) in h heads (right)",
      "",
      { { 't', "q", "Q", NULL, NULL }, { 't', "k", "K", NULL, NULL }, { 't', "v", "V", NULL, NULL },
        { 'a', "product", "Q K' : inner products", "attend_by_scores", ATT },
        { 'a', "scale", "divide by sqrt(K)", "attend_by_scores", ATT },
        { 'a', "mask", "mask (optional)", "attend_by_scores", ATT }, { 'a', "softmax", "softmax", "attend_by_scores", ATT },
        { 'a', "mean", "weighted means of V", "attend_by_scores", ATT }, { 't', "z", "Z", NULL, NULL },
        { 't', "xq", "query", NULL, NULL }, { 't', "xk", "key", NULL, NULL }, { 't', "xv", "value", NULL, NULL },
        { 'o', "wq", "times W_Q", "nn_linear", "nn/layers.c" }, { 'o', "wk", "times W_K", "nn_linear", "nn/layers.c" },
        { 'o', "wv", "times W_V", "nn_linear", "nn/layers.c" }, { 'o', "split", "split into h heads", "split_heads", ATT },
        { 'a', "heads", "scaled dot-product attention\\nin each head", "attend_in_steps", ATT },
        { 'o', "concat", "concatenate", "attend_in_steps", ATT },
        { 'o', "wo", "times W_O", "nn_multi_head_attention_cached", ATT }, { 't', "y", "output", NULL, NULL } },
      { { "q", "product", "(B,T,K)", NULL }, { "k", "product", "(B,S,K)", NULL }, { "product", "scale", "(B,T,S)", NULL },
        { "scale", "mask", "(B,T,S)", NULL }, { "mask", "softmax", "(B,T,S)", NULL }, { "softmax", "mean", "(B,T,S)", NULL },
        { "v", "mean", "(B,S,K)", NULL }, { "mean", "z", "(B,T,K)", NULL }, { "xq", "wq", "(B,T,D)", NULL },
        { "xk", "wk", "(B,S,D)", NULL }, { "xv", "wv", "(B,S,D)", NULL }, { "wq", "split", "(B,T,D)", NULL },
        { "wk", "split", "(B,S,D)", NULL }, { "wv", "split", "(B,S,D)", NULL },
        { "split", "heads", "Q (B,h,T,K), K and V (B,h,S,K)", NULL }, { "heads", "concat", "Z_1 ... Z_h (B,h,T,K)", NULL },
        { "concat", "wo", "(B,T,D)", NULL }, { "wo", "y", "(B,T,D)", NULL } } },

    { "residual", "f(x), and x + f(x) with a skip or residual connection",
      "  {rank=same; px; x}\n  {rank=same; pf; f}\n  {rank=same; py; y}\n",
      { { 't', "px", "x", NULL, NULL }, { 'f', "pf", "f: linear, ReLU, linear", "ffn", SKIP },
        { 't', "py", "y = f(x)", NULL, NULL }, { 't', "x", "x", NULL, NULL },
        { 'f', "f", "f: linear, ReLU, linear", "ffn", SKIP }, { 'n', "add", "add", "stack", SKIP },
        { 't', "y", "y = x + f(x)", NULL, NULL } },
      { { "px", "pf", "x", NULL }, { "pf", "py", "f(x)", NULL }, { "x", "f", "x", NULL }, { "f", "add", "f(x)", NULL },
        { "x", "add", "x", AROUND }, { "add", "y", "x + f(x)", NULL } } },

    { "transformer", "The Transformer (post-norm, as in the paper)",
      "  subgraph cluster_e {label=\"N encoder layers\"; labeljust=l; " FRAME "ea; en1; ef; en2}\n"
      "  subgraph cluster_d {label=\"N decoder layers\"; labeljust=r; " FRAME "da; dn1; dx; dn2; df; dn3}\n"
      "  {rank=same; p; out}\n  {rank=same; src; ee}\n  {rank=same; tgt; de}\n",
      { { 't', "src", "source ids", NULL, NULL }, { 'e', "ee", "embedding + positions", "transformer_embeddings", TR },
        { 'a', "ea", "multi-head attention", "nn_multi_head_attention_cached", ATT },
        { 'n', "en1", "add and norm", "nn_sublayer_out", ATT },
        { 'f', "ef", "feed-forward", "nn_positionwise_feed_forward", ATT },
        { 'n', "en2", "add and norm", "nn_sublayer_out", ATT },
        { 't', "tgt", "output ids, one\\nplace to the right", NULL, NULL },
        { 'e', "de", "embedding + positions", "transformer_embeddings", TR },
        { 'a', "da", "masked multi-head attention", "transformer_decoder_layer", TR },
        { 'n', "dn1", "add and norm", "nn_sublayer_out", ATT },
        { 'a', "dx", "cross-attention to the source", "transformer_decoder_layer", TR },
        { 'n', "dn2", "add and norm", "nn_sublayer_out", ATT },
        { 'f', "df", "feed-forward", "nn_positionwise_feed_forward", ATT },
        { 'n', "dn3", "add and norm", "nn_sublayer_out", ATT },
        { 'o', "out", "Linear, softmax", "transformer_generator", TR },
        { 't', "p", "probabilities of\\nthe next word", NULL, NULL } },
      { { "src", "ee", "(B,S)", NULL }, { "ee", "ea", "(B,S,D) as Q, K, V", NULL }, { "ea", "en1", "(B,S,D)", NULL },
        { "ee", "en1", "x", AROUND }, { "en1", "ef", "(B,S,D)", NULL }, { "ef", "en2", "(B,S,D)", NULL },
        { "en1", "en2", "x", LEFT_AROUND },
        { "en2", "dx", "memory (B,S,D)\\nas K, V", "color=\"#D55E00\", penwidth=2, minlen=0, weight=1" },
        { "tgt", "de", "(B,T)", NULL }, { "de", "da", "(B,T,D) as Q, K, V", NULL }, { "da", "dn1", "(B,T,D)", NULL },
        { "de", "dn1", "x", AROUND }, { "dn1", "dx", "(B,T,D) as Q", NULL }, { "dx", "dn2", "(B,T,D)", NULL },
        { "dn1", "dn2", "x", AROUND }, { "dn2", "df", "(B,T,D)", NULL }, { "df", "dn3", "(B,T,D)", NULL },
        { "dn2", "dn3", "x", AROUND }, { "dn3", "out", "(B,T,D)", NULL },
        { "p", "out", "(B,T,V)", "dir=back" } } },

    { "transformer_slide", NULL,
      "  subgraph cluster_e {label=\"N times\"; labeljust=l; " SLIDE_FRAME "ea; ef}\n"
      "  subgraph cluster_d {label=\"N times\"; labeljust=r; " SLIDE_FRAME "da; dx; df}\n"
      "  {rank=same; src; tgt}\n",
      { { 't', "src", "source ids (B,S)", NULL, NULL }, { 'e', "ee", "embedding + positions", "transformer_embeddings", TR },
        { 'a', "ea", "x + attention, norm", "nn_multi_head_attention_cached", ATT },
        { 'f', "ef", "x + feed-forward, norm", "nn_positionwise_feed_forward", ATT },
        { 't', "tgt", "output ids (B,T)", NULL, NULL }, { 'e', "de", "embedding + positions", "transformer_embeddings", TR },
        { 'a', "da", "x + masked attention, norm", "transformer_decoder_layer", TR },
        { 'a', "dx", "x + cross-attention, norm", "transformer_decoder_layer", TR },
        { 'f', "df", "x + feed-forward, norm", "nn_positionwise_feed_forward", ATT },
        { 'o', "out", "Linear, softmax", "transformer_generator", TR },
        { 't', "p", "next word (B,T,V)", NULL, NULL } },
      { { "src", "ee", NULL, NULL }, { "ee", "ea", "(B,S,D)", NULL }, { "ea", "ef", NULL, NULL },
        { "ef", "dx", "K, V", "color=\"#D55E00\", penwidth=2, minlen=0, weight=1" }, { "tgt", "de", NULL, NULL },
        { "de", "da", "(B,T,D)", NULL }, { "da", "dx", "Q", NULL }, { "dx", "df", NULL, NULL }, { "df", "out", NULL, NULL },
        { "out", "p", NULL, NULL } } },

    { "gpt", "GPT: a decoder without a source (pre-norm)",
      "  subgraph cluster_g {label=\"one of the N layers\"; labeljust=l; " FRAME "x; n1; a; p1; n2; f; p2}\n",
      { { 't', "ids", "ids of the text so far", NULL, NULL }, { 'e', "e", "embedding + learned positions", "body", GPT_C },
        { 'g', "layers", "N layers", "block", GPT_C }, { 'n', "nf", "layer norm", "body", GPT_C },
        { 'o', "out", "inner products with the\\nembedding, softmax", "gpt_forward", GPT_C },
        { 't', "p", "probabilities of the next token", NULL, NULL }, { 't', "x", "x", NULL, NULL },
        { 'n', "n1", "layer norm", "block", GPT_C }, { 'a', "a", "masked multi-head attention", "attention", GPT_C },
        { 'n', "p1", "add", "block", GPT_C }, { 'n', "n2", "layer norm", "block", GPT_C },
        { 'f', "f", "feed-forward (GELU)", "mlp", GPT_C }, { 'n', "p2", "add", "block", GPT_C } },
      { { "ids", "e", "(B,T)", NULL }, { "e", "layers", "(B,T,D)", NULL }, { "layers", "nf", "(B,T,D)", NULL },
        { "nf", "out", "(B,T,D)", NULL }, { "out", "p", "(B,T,V)", NULL }, { "x", "n1", "(B,T,D)", NULL },
        { "n1", "a", "(B,T,D) as Q, K, V", NULL }, { "a", "p1", "(B,T,D)", NULL }, { "x", "p1", NULL, AROUND },
        { "p1", "n2", "(B,T,D)", NULL }, { "n2", "f", "(B,T,D)", NULL }, { "f", "p2", "(B,T,D)", NULL },
        { "p1", "p2", "x", AROUND } } },

    { "bert", "An encoder alone, like BERT: it fills in hidden words",
      "  subgraph cluster_b {label=\"one of the N layers\"; labeljust=l; " FRAME "x; a; n1; f; n2}\n",
      { { 't', "ids", "ids, some of them hidden", NULL, NULL },
        { 'e', "e", "embedding + positions", "transformer_embeddings", TR },
        { 'g', "layers", "N layers", "transformer_encoder", TR },
        { 'o', "out", "Linear, softmax", "transformer_generator", TR },
        { 't', "p", "probabilities of the hidden words", NULL, NULL }, { 't', "x", "x", NULL, NULL },
        { 'a', "a", "multi-head attention, no causal mask", "transformer_encoder_layer", TR },
        { 'n', "n1", "add and norm", "nn_sublayer_out", ATT },
        { 'f', "f", "feed-forward", "nn_positionwise_feed_forward", ATT },
        { 'n', "n2", "add and norm", "nn_sublayer_out", ATT } },
      { { "ids", "e", "(B,S)", NULL }, { "e", "layers", "(B,S,D)", NULL }, { "layers", "out", "(B,S,D)", NULL },
        { "out", "p", "(B,S,V)", NULL }, { "x", "a", "(B,S,D) as Q, K, V", NULL }, { "a", "n1", "(B,S,D)", NULL },
        { "x", "n1", NULL, AROUND }, { "n1", "f", "(B,S,D)", NULL }, { "f", "n2", "(B,S,D)", NULL },
        { "n1", "n2", "x", AROUND } } },
};
const int figure_count = sizeof figures / sizeof *figures;
