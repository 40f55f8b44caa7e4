"""Models and their config.json that the library transformers opens and writes, beside kaeru's: llama_open, gpt_open,
llama_write, gpt_write."""
import json
import os
import shutil

from check import FIXTURES, check, check_close, enter_folder, finish, run, value_or_error
from models import KINDS, finetune, kaeru_logits, library_logits, new_folder
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer, GenerationConfig

enter_folder()
torch.manual_seed(0)

# ---- both directions, for each kind of model -----------------------------------------------------------------------------

for kind in KINDS:
    base = new_folder(kind)
    expected = library_logits(AutoModelForCausalLM.from_pretrained(base))
    check_close(f"{kind}: kaeru opens what transformers wrote", kaeru_logits(kind, base), expected)
    kaeru_logits(kind, base, "write", "written")
    check_close(f"{kind}: transformers opens what kaeru wrote",
                library_logits(AutoModelForCausalLM.from_pretrained("written")), expected)

    # In several files with an index, and in other types of numbers.
    if kind != "gpt2":
        AutoModelForCausalLM.from_pretrained(base).save_pretrained("sharded", max_shard_size="6KB")
        check(f"{kind}: several files", os.path.exists("sharded/model.safetensors.index.json"))
        check_close(f"{kind}: kaeru opens several files", kaeru_logits(kind, "sharded"), expected)
        shutil.rmtree("sharded")
    for dtype in torch.bfloat16, torch.float16:
        AutoModelForCausalLM.from_pretrained(base, dtype=dtype).save_pretrained("half")
        check_close(f"{kind}: kaeru opens {dtype}", kaeru_logits(kind, "half"),
                    library_logits(AutoModelForCausalLM.from_pretrained("half", dtype=torch.float32)))
    if kind != "gpt2":
        kaeru_logits(kind, base, "write_bf16", "written")
        check_close(f"{kind}: transformers opens what kaeru rounded to bfloat16", kaeru_logits(kind, "written"),
                    library_logits(AutoModelForCausalLM.from_pretrained("written", dtype=torch.float32)))

# GPT2Model's names have no prefix, and older versions save the causal masks.
AutoModel.from_pretrained("gpt2").save_pretrained("bare")
expected = library_logits(AutoModelForCausalLM.from_pretrained("gpt2"))
check_close("gpt2: the names of GPT2Model", kaeru_logits("gpt2", "bare"), expected)
tensors = load_file("bare/model.safetensors")
tensors |= {f"h.{i}.attn.bias": torch.ones(1, 1, 16, 16).tril().bool() for i in range(2)}
save_file(tensors | {"h.0.attn.masked_bias": torch.tensor(-1e4)}, "bare/model.safetensors")
check_close("gpt2: saved masks", kaeru_logits("gpt2", "bare"), expected)

# ---- config.json: what transformers reads there is the same in a folder that kaeru writes ---------------------------------

# Not of the model itself: the place and type of its files, the first values of new weights, and how programs run it.
OTHER = {"_name_or_path", "dtype", "initializer_range", "transformers_version", "use_cache"}
for kind in "llama", "llama_tied", "qwen2", "qwen3":
    for tokens in ({}, {"pad_token_id": 0}, {"bos_token_id": 3, "eos_token_id": 4, "pad_token_id": 60},
                   {"bos_token_id": 0, "eos_token_id": [5, 0], "pad_token_id": None}):
        config = AutoConfig.from_pretrained(kind, **tokens)
        model = AutoModelForCausalLM.from_config(config)
        model.generation_config = GenerationConfig()
        model.save_pretrained("configured")
        kaeru_logits(kind, "configured", "write", "written")
        found, expected = (AutoConfig.from_pretrained(folder).to_dict() for folder in ("written", "configured"))
        names = {key for key in found | expected if found.get(key) != expected.get(key)} - OTHER
        # Qwen2's config has no width of heads: that is hidden_size / num_attention_heads.
        names -= {"head_dim"} if kind == "qwen2" else set()
        check(f"{kind}: config.json with {tokens} is read as before", not names, str({
            key: (found.get(key), expected.get(key)) for key in names}))

# ---- programs: the text that both write, always with the most probable token ---------------------------------------------


def greedy_text(folder, prompt, tokens):
    """The prompt and what the library writes behind it, with its tokenizer and its model of this folder."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(prompt, return_tensors="pt")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    text = model.generate(**ids, max_new_tokens=tokens, do_sample=False)
    return tokenizer.decode(text[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)


finetune("learned")
found = run("examples/llama", "generate", "--model", "learned/model", "--prompt", "The frog", "--tokens", "12",
            "--temperature", "0")
check("llama finetune and generate: the text", found.strip() == greedy_text("learned/model", "The frog", 12).strip(), found)

run("examples/gpt", "train", "--data", FIXTURES / "bpe" / "text.txt", "--vocab", FIXTURES / "bpe" / "vocab.json", "--merges",
    FIXTURES / "bpe" / "merges.txt", "--bias", "--steps", "40", "--layers", "2", "--heads", "2", "--width", "16",
    "--context", "16", "--sample", "0", "--out", "trained", "--language", "en")
run("examples/gpt", "export", "--checkpoint", "trained/gpt_best.safetensors", "--out", "exported")
found = run("examples/gpt", "generate", "--weights", "exported/model.safetensors", "--config", "exported/config.json",
            "--vocab", "exported/vocab.json", "--merges", "exported/merges.txt", "--prompt", "The", "--tokens", "10",
            "--temperature", "0")
check("gpt train and export: the text", found.strip() == greedy_text("exported", "The", 10).strip(), found)

# ---- config.json: each setting absent, and with values that are nothing or may be ----------------------------------------

ABSENT = "(absent)"
VALUES = [ABSENT, None, {}, [], False, 0]
ROPE = ["rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "original_max_position_embeddings"]
# What kaeru opens although transformers 5 refuses it: settings that do not matter in kaeru; null, which is as absent; a whole
# number where transformers expects a fraction.
NO_MATTER = {"initializer_range", "use_cache", "pad_token_id", "pretraining_tp", "sliding_window", "max_window_layers",
             "reorder_and_upcast_attn", "a_later_setting", "dtype"}
NO_MATTER_IN_GPT2 = {"attn_pdrop", "embd_pdrop", "bos_token_id", "eos_token_id", "layer_types", "head_dim", *ROPE}


def may_be_opened(kind, key, value):
    gpt2 = kind == "gpt2" and (key in NO_MATTER_IN_GPT2 or key.startswith("summary_"))
    return value is None or gpt2 or key in NO_MATTER or (key, value) in [("rms_norm_eps", 0), ("layer_norm_epsilon", 0)]


def write_config(folder, config):
    with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)


def opened(folder):
    """transformers' config and logits. An error if the files and the model do not have the same tensors."""
    model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    if any(info.values()):
        raise ValueError(str(info))
    return model.config, library_logits(model)


def compare_tokens(what, config):
    """Compares the context and the tokens around a text, which kaeru has written into a config."""
    with open("written/config.json", encoding="utf-8") as f:
        found = json.load(f)
    for key in "max_position_embeddings", "bos_token_id", "eos_token_id":
        values = [value if isinstance(value, list) else [] if value is None else [value]
                  for value in (found[key], getattr(config, key))]
        check(f"{what}: {key}", values[0] == values[1], f"{values[0]}, expected {values[1]}")


def compare(kind, folder, what, told, may_be_opened):
    """Compares what both sides make of a folder. A message of kaeru must have one of the words `told`."""
    found = kaeru_logits(kind, folder, "write", "written")
    if isinstance(found, str):
        check(f"{what} is refused by name", any(word in found for word in told), found)
        return
    expected = value_or_error(opened, folder)
    if isinstance(expected, str):
        check(f"{what} is opened, but transformers refuses it", may_be_opened, expected)
        return
    check_close(what, found, expected[1])
    if kind != "gpt2":
        compare_tokens(what, expected[0])


for kind in KINDS:
    config_class = type(KINDS[kind][1])
    with open(f"{kind}/config.json", encoding="utf-8") as f:
        usual = json.load(f)
    own = {key for key in config_class.__annotations__ if not key.startswith("_")} - {"model_type", "base_model_tp_plan"}
    for key in sorted(own | set(config_class.attribute_map) | set(ROPE) | {
            "head_dim", "layer_types", "use_sliding_window", "mlp_bias", "attention_bias", "dtype", "a_later_setting",
            "is_causal", "per_layer_config", "quantization_config", "transformers_weights"}):
        for value in VALUES:
            if value == ABSENT and key not in usual:
                continue
            write_config(kind, {k: v for k, v in usual.items() if k != key} | ({} if value == ABSENT else {key: value}))
            # Without a size, or with another one, the weights do not fit, nor do the types of layers.
            told = [f'"{key}"', f"{kind}/config.json: {key} ", "model.safetensors: ", "heads"]
            told += ['"layer_types"'] if key == "num_hidden_layers" else []
            compare(kind, kind, f"{kind}: config.json with {key}: {value!r}", told, may_be_opened(kind, key, value))
    write_config(kind, usual)

# The names of other models for GPT-2's sizes, before and behind its own.
with open("gpt2/config.json", encoding="utf-8") as f:
    usual = json.load(f)
for other, own in type(KINDS["gpt2"][1]).attribute_map.items():
    for value in usual[own], usual[own] // 2:
        alone = {k: v for k, v in usual.items() if k != own} | {other: value}
        for config in {other: value} | usual, usual | {other: value}, alone:
            write_config("gpt2", config)
            compare("gpt2", "gpt2", f"gpt2: {other}: {value} and {own}: {config.get(own, ABSENT)}",
                    ["model.safetensors: "], False)
write_config("gpt2", usual)

# ---- the frequencies of positions ----------------------------------------------------------------------------------------

LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}


def without(key):
    return {k: v for k, v in LLAMA3.items() if k != key}


OBJECTS = [ABSENT, None, {}, {"rope_type": "default"}, {"rope_theta": 30.0}, LLAMA3, LLAMA3 | {"rope_theta": 30.0}]
MORE = [{"type": "default"}, without("factor"), without("low_freq_factor"), without("original_max_position_embeddings"),
        {"rope_type": None}, {"rope_type": {}}, {"rope_type": ""}, {"factor": 2.0}, {"type": "llama3"} | without("rope_type"),
        LLAMA3 | {"type": "default"}, {"rope_type": "default", "type": "llama3"} | without("rope_type"),
        {"rope_type": None, "type": "llama3"} | without("rope_type"), {"rope_type": "linear", "factor": 2.0},
        {"rope_theta": None}, {"rope_theta": {}}, {"partial_rotary_factor": None}, {"partial_rotary_factor": 1.0},
        {"partial_rotary_factor": 0.5}, {"full_attention": LLAMA3 | {"rope_theta": 30.0}}, {"full_attention": {}},
        {"full_attention": None}, LLAMA3 | {"factor": None}, LLAMA3 | {"original_max_position_embeddings": None}]
cases = [{"rope_scaling": a, "rope_parameters": b} for a in OBJECTS for b in OBJECTS]
cases += [{key: a, "rope_theta": b} for key in ("rope_scaling", "rope_parameters") for a in MORE for b in (ABSENT, 50.0)]
cases += [{"rope_scaling": a, "original_max_position_embeddings": b}
          for a in (LLAMA3, without("original_max_position_embeddings")) for b in (None, {}, 8, 16)]
for kind in "llama", "qwen2", "qwen3":
    with open(f"{kind}/config.json", encoding="utf-8") as f:
        usual = {k: v for k, v in json.load(f).items() if k != "rope_parameters"}
    for case in cases if kind == "llama" else cases[::5] + [{"rope_parameters": a} for a in MORE]:
        write_config(kind, usual | {k: v for k, v in case.items() if v != ABSENT})
        nulls = any(v is None for v in case.values()) or any(
            None in v.values() for v in case.values() if isinstance(v, dict))
        compare(kind, kind, f"{kind}: config.json with {case}", [*ROPE, "rope_type", '"type"', "factor"], nulls)

finish()
