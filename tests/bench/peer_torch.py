#!/usr/bin/env python3
"""The workloads of `bench` in PyTorch: same options, same output. See compare.py.

Written for speed on a CPU: one projection for queries, keys and values where the model has one, PyTorch's own attention, its
foreach or fused optimizers, gradients set to None, no checks in the loop. With --compile, models and losses are compiled by
torch.compile.
"""
import argparse
import importlib.util
import math
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

compiled = False
clock = time.perf_counter
before_2 = not hasattr(F, "scaled_dot_product_attention")       # there fused optimizers are only for GPUs, too


def maybe_compile(f):
    return torch.compile(f) if compiled else f


def adam(model, kind=torch.optim.Adam, **how):
    return kind(model.parameters(), lr=1e-4, **({} if before_2 else {"fused": True}), **how)


def plain_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False):
    """F.scaled_dot_product_attention for a PyTorch without it."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if is_causal:
        attn_mask = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    return F.dropout(scores.softmax(-1), dropout_p) @ v


def parameter_count(*models):
    return sum(p.numel() for m in models for p in m.parameters())


attend = plain_attention if before_2 else F.scaled_dot_product_attention


# ---- the matrix product, and operations on very small tensors --------------------------------------------------------

def gemm(m, n, k, kind="AB"):
    a = torch.randn(k, m).t() if kind == "AtB" else torch.randn(m, k)
    b = torch.randn(n, k).t() if kind == "ABt" else torch.randn(k, n)
    c = torch.empty(m, n)
    return (lambda: torch.mm(a, b, out=c)), 0


def overhead():
    w, b = (torch.randn(16, 16) / 4).requires_grad_(), torch.randn(16, requires_grad=True)
    start = torch.randn(1, 16)

    @maybe_compile
    def chain(y):
        for _ in range(50):
            y = torch.tanh(y @ w + b)
        return y.sum()

    def step():
        chain(start).backward()
        w.grad = b.grad = None
    return step, w.numel() + b.numel()


def skip(rows):
    x = torch.randn(rows, 10)
    nets = [nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 10)) for _ in range(2)]
    adams = [adam(net) for net in nets]

    @maybe_compile
    def loss(i):
        y = nets[i](x)
        return F.mse_loss(x + y if i else y, x)

    def step():
        for i in range(2):
            adams[i].zero_grad()
            loss(i).backward()
            adams[i].step()
    return step, parameter_count(*nets)


# ---- the Annotated Transformer ---------------------------------------------------------------------------------------

class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a_2, self.b_2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        std, mean = torch.std_mean(x, -1, keepdim=True)
        return self.a_2 * (x - mean) / (std + 1e-6) + self.b_2


class Attention(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        self.linears, self.heads, self.p = nn.ModuleList(nn.Linear(width, width) for _ in range(4)), heads, p

    def forward(self, query, memory, mask):
        def split(linear, x):
            return linear(x).view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)
        q, k, v = (split(linear, x) for linear, x in zip(self.linears, (query, memory, memory)))
        y = attend(q, k, v, attn_mask=mask, dropout_p=self.p)
        return self.linears[3](y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width, heads, p, decodes):
        super().__init__()
        self.attention = nn.ModuleList(Attention(width, heads, p) for _ in range(2 if decodes else 1))
        self.w_1, self.w_2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms, self.p = nn.ModuleList(Norm(width) for _ in range(3 if decodes else 2)), p

    def forward(self, x, mask, memory=None, memory_mask=None):
        def add(x, y):
            return x + F.dropout(y, self.p)
        h = self.norms[0](x)
        x = add(x, self.attention[0](h, h, mask))
        if memory is not None:
            x = add(x, self.attention[1](self.norms[1](x), memory, memory_mask))
        h = self.norms[-1](x)
        return add(x, self.w_2(F.dropout(F.relu(self.w_1(h)), self.p)))


class Transformer(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, layers, width=512, heads=8, p=0.1):
        super().__init__()
        self.embed = nn.ModuleList(nn.Embedding(n, width) for n in (src_vocab, tgt_vocab))
        self.encoder = nn.ModuleList(Layer(width, heads, p, False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(width, heads, p, True) for _ in range(layers))
        self.norms = nn.ModuleList(Norm(width) for _ in range(2))
        self.generator, self.width, self.p = nn.Linear(width, tgt_vocab), width, p
        position = torch.arange(100).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
        self.register_buffer("pe", torch.stack((position.sin(), position.cos()), -1).flatten(1))

    def start(self, embed, ids):
        return F.dropout(embed(ids) * math.sqrt(self.width) + self.pe[:ids.size(1)], self.p)

    def forward(self, src, tgt, src_mask, tgt_mask):
        memory, x = self.start(self.embed[0], src), self.start(self.embed[1], tgt)
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        memory = self.norms[0](memory)
        for layer in self.decoder:
            x = layer(x, tgt_mask, memory, src_mask)
        return F.log_softmax(self.generator(self.norms[1](x)), -1)


def smoothed_loss(log_p, target, padding, smoothing):
    """The notebook's LabelSmoothing, up to a constant, without its table of targets."""
    log_p, target = log_p.flatten(0, 1), target.flatten()
    rest = smoothing / (log_p.size(1) - 2)
    at_target = log_p.gather(1, target.unsqueeze(1)).squeeze(1)
    loss = -(1 - smoothing - rest) * at_target
    if smoothing:
        loss = loss - rest * (log_p.sum(1) - log_p[:, padding])
    return loss.masked_fill(target == padding, 0).sum()


def transformer(layers, src_vocab, tgt_vocab, batch, source, target, padding, smoothing):
    model = Transformer(src_vocab, tgt_vocab, layers)
    optimizer = adam(model, betas=(0.9, 0.98), eps=1e-9)
    src = torch.randint(padding + 1, src_vocab, (batch, source))
    tgt = torch.randint(padding + 1, tgt_vocab, (batch, target + 1))
    src_mask = (src != padding)[:, None, None, :]
    tgt_mask = (tgt[:, :-1] != padding)[:, None, None, :] & torch.ones(target, target, dtype=torch.bool).tril()

    @maybe_compile
    def loss():
        y = model(src, tgt[:, :-1], src_mask, tgt_mask)
        return smoothed_loss(y, tgt[:, 1:], padding, smoothing) / (batch * target)

    def step():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return step, parameter_count(model)


# ---- GPT -------------------------------------------------------------------------------------------------------------

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache=None):
        b, t, width = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        causal = True
        if cache is not None:
            past, keys, values = cache
            keys[:, :, past:past + t], values[:, :, past:past + t] = k, v
            k, v, causal = keys[:, :, :past + t], values[:, :, :past + t], past == 0
        y = attend(q, k, v, is_causal=causal)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, width))
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, layers=12, heads=12, width=768, vocab=50257, context=1024):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0, 0.02)

    def forward(self, ids, past=0, caches=None):
        x = self.wte(ids) + self.wpe.weight[past:past + ids.size(1)]
        for i, block in enumerate(self.h):
            x = block(x, (past, *caches[i]) if caches else None)
        if caches:
            x = x[:, -1]
        return F.linear(self.ln_f(x), self.wte.weight)


def gpt_training(batch, length, share=lambda model: model, **sizes):
    """share: makes the model one of several processes."""
    model = GPT(**sizes)
    optimizer = adam(model, torch.optim.AdamW)
    vocab = model.wte.num_embeddings
    ids, targets = torch.randint(vocab, (batch, length)), torch.randint(vocab, (batch, length))
    shared = share(model)

    @maybe_compile
    def loss():
        return F.cross_entropy(shared(ids).flatten(0, 1), targets.flatten())

    def step():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return step, parameter_count(model)


def decode(prompt, tokens):
    model = GPT().eval()
    forward = maybe_compile(model)
    first = torch.randint(50257, (1, prompt))

    @torch.inference_mode()
    def step():
        caches = [(torch.empty(1, 12, 1024, 64), torch.empty(1, 12, 1024, 64)) for _ in model.h]
        ids, past = first, 0
        for _ in range(tokens):
            logits = forward(ids, past, caches)
            past += ids.size(1)
            ids = logits.argmax(-1, keepdim=True)
            ids.item()
    return step, parameter_count(model)


# ---- LoRA on a model of SmolLM2's size, with transformers and peft ---------------------------------------------------

def lora(batch, length):
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
                         intermediate_size=1536, vocab_size=49152, max_position_embeddings=8192, rms_norm_eps=1e-5,
                         rope_theta=1e5, tie_word_embeddings=True, use_cache=False)
    layers = ["q_proj", "k_proj", "v_proj", "o_proj"]
    model = get_peft_model(LlamaForCausalLM(config), LoraConfig(r=8, lora_alpha=16, target_modules=layers))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, fused=True)
    ids, targets = torch.randint(49152, (batch, length)), torch.randint(49152, (batch, length))

    @maybe_compile
    def loss():
        return F.cross_entropy(model(ids).logits.flatten(0, 1), targets.flatten())

    def step():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return step, sum(p.numel() for p in trained)


# ---- convolution -----------------------------------------------------------------------------------------------------

def conv(batch, channels, side):
    layer = nn.Conv2d(channels, channels, 3, padding=1)
    x = torch.randn(batch, channels, side, side, requires_grad=True)
    dy = torch.randn(batch, channels, side, side)
    forward = maybe_compile(layer)

    def step():
        x.grad = layer.weight.grad = layer.bias.grad = None
        forward(x).backward(dy)
    return step, parameter_count(layer)


# ---- the list --------------------------------------------------------------------------------------------------------

def per(amount):
    return lambda seconds: seconds * amount


def rate(amount):
    return lambda seconds: amount / seconds


def product(m, n, k, kind="AB"):
    return (lambda: gemm(m, n, k, kind)), rate(2e-9 * m * n * k), "GFLOPS"


SHAKESPEARE = {"layers": 4, "heads": 4, "width": 128, "vocab": 65, "context": 64}
WORKLOADS = {
    "gemm": product(1024, 1024, 1024),
    "gemm_128": product(128, 128, 128),
    "gemm_512": product(512, 512, 512),
    "gemm_2048": product(2048, 2048, 2048),
    "gemm_deep": product(64, 64, 4096),
    "gemm_abt": product(1024, 1024, 1024, "ABt"),
    "gemm_atb": product(1024, 1024, 1024, "AtB"),
    "overhead": (overhead, per(1e9 / 151), "ns/op"),
    "skip": (lambda: skip(10000), per(1e3), "ms/step"),
    "skip_small": (lambda: skip(100), per(1e6), "us/step"),
    "copy": (lambda: transformer(2, 11, 11, 80, 10, 9, 0, 0), per(1e3), "ms/step"),
    "translate": (lambda: transformer(6, 8000, 6000, 32, 24, 24, 2, 0.1), per(1e3), "ms/step"),
    "shakespeare": (lambda: gpt_training(12, 64, **SHAKESPEARE), per(1e3), "ms/step"),
    "gpt2": (lambda: gpt_training(4, 64), per(1e3), "ms/step"),
    "gpt2_long": (lambda: gpt_training(1, 1024), per(1e3), "ms/step"),
    "decode": (lambda: decode(16, 48), rate(48), "tokens/s"),
    "lora": (lambda: lora(4, 128), per(1e3), "ms/step"),
    "conv": (lambda: conv(16, 64, 32), per(1e3), "ms/step"),
}


# ---- time, measured as in timing.c -----------------------------------------------------------------------------------

def time_steps(step, count):
    start = clock()
    for _ in range(count):
        step()
    return clock() - start


def measure(step, seconds):
    """Median and least seconds of a step."""
    warm, count = 0.0, 0
    while count < 2 or warm < 0.1 * seconds:
        warm += time_steps(step, 1)
        count += 1
    one = time_steps(step, 1)
    group = 1 + int(2e-3 / one) if one < 2e-3 else 1
    samples, spent = [], 0.0
    while len(samples) < 5 or spent < seconds:
        elapsed = time_steps(step, group)
        spent += elapsed
        samples.append(elapsed / group)
    samples.sort()
    return samples[len(samples) // 2], samples[0]


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1048576 if sys.platform == "darwin" else 1024)


def load_all():
    """A very small step, so that memory of PyTorch's imports at first use does not count for the measured step."""
    x, linear = torch.randn(2, 8), nn.Linear(8, 8)
    optimizer = adam(linear)

    @maybe_compile
    def loss():
        y = linear(x).view(1, 2, 2, 4)
        return attend(y, y, y).sum()

    loss().backward()
    optimizer.step()


def run(name, seconds):
    make, figure, unit = WORKLOADS[name]
    load_all()
    before = peak_mib()
    step, count = make()
    median, least = measure(step, seconds)
    print(f"{name} {figure(median):.4g} {unit}")
    print(f"{name}.best {figure(least):.4g} {unit}")
    print(f"{name}.peak {peak_mib() - before:.1f} MiB")
    print(f"{name}.threads {torch.get_num_threads()} threads")
    if count:
        print(f"{name}.parameters {count} parameters")


def main():
    global clock, compiled
    parser = argparse.ArgumentParser(description="The workloads of bench in PyTorch.")
    parser.add_argument("--threads", type=int, default=0, help="number of threads; the default 0 means PyTorch's choice")
    parser.add_argument("--seconds", type=float, default=2, help="how long each workload is measured")
    parser.add_argument("--cpu", action="store_true", help="count processor time")
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument("--version", action="store_true", help="print PyTorch's version and end")
    parser.add_argument("workload", nargs="*", help="give one for each process; the peak memory of several mixes")
    options = parser.parse_args()
    if options.version:
        print("PyTorch", torch.__version__.split("+")[0], "compiled" if options.compile else "eager")
        return
    if options.threads:
        torch.set_num_threads(options.threads)
    compiled = options.compile
    if options.cpu:
        clock = time.process_time
    for name in options.workload or WORKLOADS:
        if name in WORKLOADS and (name != "lora" or importlib.util.find_spec("peft")):
            run(name, options.seconds)


if __name__ == "__main__":
    main()
