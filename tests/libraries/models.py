"""Small models of the library transformers with random weights, and the logits of both sides."""
import json
import os
import shutil
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"              # read by the libraries when they are imported
import torch
from check import FIXTURES, run
from transformers import (GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM,
                          Qwen3Config, Qwen3ForCausalLM)
from transformers.utils import logging

warnings.simplefilter("ignore")
torch.set_num_threads(1)                        # the models are small
logging.set_verbosity_error()
logging.disable_progress_bar()

IDS = torch.tensor([[5, 31, 2, 17, 8]])         # those of models.c
NO_TOKENS = {"bos_token_id": None, "eos_token_id": None}
OF_LLAMA = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "vocab_size": 61, "max_position_embeddings": 32} | NO_TOKENS
# The models of each kind: class, config. The names of kinds are those of kaeru's documentation.
KINDS = {
    "llama": (LlamaForCausalLM, LlamaConfig(**OF_LLAMA)),
    "llama_tied": (LlamaForCausalLM, LlamaConfig(**OF_LLAMA, tie_word_embeddings=True)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**OF_LLAMA)),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**OF_LLAMA, head_dim=6)),
    "gpt2": (GPT2LMHeadModel, GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=61, n_positions=16, **NO_TOKENS)),
}


def new_folder(kind):
    """Writes a new model of this kind into a folder and returns its name."""
    library_class, config = KINDS[kind]
    model = library_class(config)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.1 * torch.randn(p.shape) + (p.dim() == 1))
    model.save_pretrained(kind)
    return kind


def library_logits(model, of=lambda y: y.logits):
    with torch.no_grad():
        return of(model.eval()(IDS))[0].numpy()


def kaeru_logits(kind, folder, *steps):
    """The logits of kaeru after these steps of models.c, or the message of an error."""
    for name, argument in zip(steps, steps[1:]):
        if name in ("save", "write", "write_bf16"):
            os.makedirs(argument, exist_ok=True)
    text = run("tests/library_models", "gpt" if kind == "gpt2" else "net" if kind == "net" else "llama", folder, *steps)
    if text.startswith("refused: "):
        return text.removeprefix("refused: ").strip()
    return [[float(word) for word in line.split()] for line in text.splitlines()]


def finetune(out):
    """Fine-tunes a Llama by `llama finetune`, which writes OUT/adapter and OUT/model. Returns the folder of the base."""
    os.makedirs("pond")
    for name in "config.json", "model.safetensors":
        shutil.copy(FIXTURES / "llama" / "writer" / name, "pond")
    with open(FIXTURES / "tokenizers" / "llama3.json", encoding="utf-8") as f:
        tokenizer = json.load(f)
    tokenizer["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    with open("pond/tokenizer.json", "w", encoding="utf-8") as f:
        json.dump(tokenizer, f)
    with open("pond/tokenizer_config.json", "w", encoding="utf-8") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast"}, f)
    with open("story.txt", "w", encoding="utf-8") as f:
        f.writelines(f"The frog {i} goes back to the pond.\n" for i in range(40))
    run("examples/llama", "finetune", "--model", "pond", "--data", "story.txt", "--steps", "20", "--lr", "0.01",
        "--window", "16", "--float32-model", "--weights", "float32", "--out", out)
    return "pond"
