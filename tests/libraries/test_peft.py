"""Adapters that the library peft writes and reads, beside kaeru's: nn_lora_save, nn_lora_load, llama finetune."""
import dataclasses
import itertools
import json
import os
import re
import shutil
import typing
import warnings

from check import check, check_close, check_refused, enter_folder, finish, value_or_error
from models import KINDS, finetune, kaeru_logits, library_logits, new_folder
import torch
from peft import AutoPeftModelForCausalLM, LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM

enter_folder()
torch.manual_seed(0)


class Net(torch.nn.Module):
    """A module of one's own as models.c makes it: its layers have these names, in which points lead into parts."""
    TYPES = {"Linear": lambda: torch.nn.Linear(4, 4), "LayerNorm": lambda: torch.nn.LayerNorm(4), "Tanh": torch.nn.Tanh}

    def __init__(self, layers):
        super().__init__()
        self.order = list(layers)
        for name, kind in layers.items():
            *parts, last = name.split(".")
            inside = self
            for part in parts:
                if part not in inside._modules:
                    inside.add_module(part, torch.nn.Module())
                inside = inside.get_submodule(part)
            inside.add_module(last, self.TYPES[kind]())

    def forward(self, x):
        for name in self.order:
            x = self.get_submodule(name)(x)
        return x


def new_net(folder, layers):
    """Writes a module with random weights into a folder."""
    os.mkdir(folder)
    save_file(Net(layers).state_dict(), f"{folder}/net.safetensors")
    with open(f"{folder}/net.txt", "w", encoding="utf-8") as f:
        f.writelines(f"{name} {kind}\n" for name, kind in layers.items())


def net_of(folder):
    with open(f"{folder}/net.txt", encoding="utf-8") as f:
        net = Net(dict(line.split() for line in f))
    net.load_state_dict(load_file(f"{folder}/net.safetensors"))
    return net


def net_logits(model):
    with torch.no_grad():
        return model.eval()(torch.tensor([[1.0, 2.0, -1.0, 0.5]])).numpy()


def peft_adapter(model, folder, targets, save=None, **settings):
    """Writes an adapter with random matrices into a folder and returns peft's model."""
    settings = {"r": 2, "lora_alpha": 5} | settings
    model = get_peft_model(model, LoraConfig(target_modules=targets, **settings))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_" in name:
                p.copy_(0.2 * torch.randn(p.shape))
    model.save_pretrained(folder, **(save or {}))
    return model


def read_config(folder):
    with open(f"{folder}/adapter_config.json", encoding="utf-8") as f:
        return json.load(f)


def write_config(folder, config):
    with open(f"{folder}/adapter_config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)


def without_warnings(what, function, *arguments):
    """peft only warns about keys that it does not find. Returns its model."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = function(*arguments)
    told = [str(w.message) for w in told if "adapter keys" in str(w.message) or "fan_in" in str(w.message)]
    check(f"{what}: peft has no warning", not told, "".join(told)[:200])
    return model


# ---- both directions, for each kind of model ---------------------------------------------------------------------------

ATTENTION = {"gpt2": ["c_attn"]}
ALL = {"gpt2": ["c_attn", "c_proj", "c_fc"]}
ONE = {"gpt2": "1.attn.c_proj"}
for kind in KINDS:
    base = new_folder(kind)
    causal = lambda: AutoModelForCausalLM.from_pretrained(base)
    attention = ATTENTION.get(kind, ["q_proj", "v_proj"])
    everything = ALL.get(kind, ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])

    for name, targets in ("attention", attention), ("all", everything):
        folder = f"{kind}_{name}_of_peft"
        expected = library_logits(peft_adapter(causal(), folder, targets, task_type="CAUSAL_LM",
                                               rank_pattern={targets[0]: 3}, alpha_pattern={targets[-1]: 9}))
        check_close(f"{kind}: peft's adapter of AutoModelForCausalLM, {name}", kaeru_logits(kind, base, "load", folder),
                    expected)
        check(f"{kind}: the adapter changes logits", abs(expected - library_logits(causal())).max() > 0.01)
    check_close(f"{kind}: merged in kaeru", kaeru_logits(kind, base, "load", folder, "merge", "write", f"{kind}_merged"),
                expected)
    check_close(f"{kind}: merged in kaeru, opened by transformers",
                library_logits(AutoModelForCausalLM.from_pretrained(f"{kind}_merged")), expected)

    # The class without an output layer: its names lack a part.
    folder = f"{kind}_bare_of_peft"
    bare = peft_adapter(AutoModel.from_pretrained(base), folder, attention)
    model = causal()
    expected = library_logits(bare, lambda y: model.lm_head(y.last_hidden_state))
    check_close(f"{kind}: peft's adapter of AutoModel", kaeru_logits(kind, base, "load", folder), expected)

    for name, steps in (("attention", ["add", attention[0]]), ("one layer", ["add", ONE.get(kind, "1.self_attn.o_proj")]),
                        ("all", [word for target in everything for word in ("add", target)])):
        folder = f"{kind}_{name}_of_kaeru".replace(" ", "_")
        expected = kaeru_logits(kind, base, *steps, "save", folder)
        what = f"{kind}: kaeru's adapter, {name}"
        model = without_warnings(what, PeftModel.from_pretrained, causal(), folder)
        check_close(what, library_logits(model), expected)
        check_close(f"{what}, by the name of its base", library_logits(AutoPeftModelForCausalLM.from_pretrained(folder)),
                    expected)
        check_close(f"{what}, back in kaeru", kaeru_logits(kind, base, "load", folder), expected)
        body, head = getattr(model.base_model.model, model.base_model.model.base_model_prefix), model.base_model.model.lm_head
        check_close(f"{what}, in the body of peft's model",
                    library_logits(body, lambda y: head(y.last_hidden_state)), expected)

# ---- the output layer --------------------------------------------------------------------------------------------------

for kind in "llama", "qwen2", "qwen3":
    for saved in "auto", True, False:
        folder = f"{kind}_head_{saved}"
        expected = library_logits(peft_adapter(AutoModelForCausalLM.from_pretrained(kind), folder, ["q_proj", "lm_head"],
                                               {"save_embedding_layers": saved}, task_type="CAUSAL_LM"))
        check_close(f"{kind}: lm_head, save_embedding_layers={saved}", kaeru_logits(kind, kind, "load", folder), expected)
    # peft takes the weight of the output layer from the file of the adapter.
    tensors = load_file(f"{folder[:-5]}auto/adapter_model.safetensors")
    tensors["base_model.model.lm_head.base_layer.weight"] *= 2
    save_file(tensors, f"{kind}_head_auto/adapter_model.safetensors")
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(kind), f"{kind}_head_auto")
    check_close(f"{kind}: another weight of lm_head", kaeru_logits(kind, kind, "load", f"{kind}_head_auto"),
                library_logits(model))
    # It ignores the weight under the name that it has without an adapter, which kaeru refuses.
    bare = "base_model.model.lm_head.weight"
    tensors[bare] = tensors.pop("base_model.model.lm_head.base_layer.weight")
    save_file(tensors, f"{kind}_head_auto/adapter_model.safetensors")
    check_refused(f"{kind}: a weight of lm_head that peft ignores", kaeru_logits(kind, kind, "load", f"{kind}_head_auto"),
                  f'unexpected: "{bare}"')
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(kind), f"{kind}_head_auto")
    del tensors[bare]
    save_file(tensors, f"{kind}_head_auto/adapter_model.safetensors")
    check_close(f"{kind}: peft ignores it", library_logits(model),
                kaeru_logits(kind, kind, "load", f"{kind}_head_auto"))
    folder = f"{kind}_head_of_kaeru"
    expected = kaeru_logits(kind, kind, "add", "lm_head", "save", folder)
    model = without_warnings(f"{kind}: kaeru's lm_head", PeftModel.from_pretrained,
                             AutoModelForCausalLM.from_pretrained(kind), folder)
    check_close(f"{kind}: kaeru's lm_head", library_logits(model), expected)
for kind in "gpt2", "llama_tied":
    check_refused(f"{kind}: a tied output layer", kaeru_logits(kind, kind, "add", "lm_head"),
                  'the weight of "lm_head" of this ')
    peft_adapter(AutoModelForCausalLM.from_pretrained(kind), f"{kind}_head", ["lm_head"], task_type="CAUSAL_LM")
    check_refused(f"{kind}: peft's tied output layer", kaeru_logits(kind, kind, "load", f"{kind}_head"),
                  "base_model.model.lm_head.")

# ---- a module of one's own ---------------------------------------------------------------------------------------------

new_net("net", {"hidden": "Linear", "tanh": "Tanh", "out": "Linear"})
for target in "hidden", "out":
    expected = kaeru_logits("net", "net", "add", target, "save", f"net_{target}_of_kaeru")
    model = without_warnings(f"net: kaeru's {target}", PeftModel.from_pretrained, net_of("net"), f"net_{target}_of_kaeru")
    check_close(f"net: kaeru's {target}", net_logits(model), expected)
    expected = net_logits(peft_adapter(net_of("net"), f"net_{target}_of_peft", [target]))
    check_close(f"net: peft's {target}", kaeru_logits("net", "net", "load", f"net_{target}_of_peft"), expected)
check("net: no task type", not read_config("net_hidden_of_kaeru").get("task_type"))

# Each choice of Linears, where others, and modules of other types, have names that end alike or differ by a sign alone.
NETS = {
    "sequentials": {"a.0": "Linear", "a.1": "Tanh", "a.2": "Linear", "b.0": "LayerNorm", "b.1": "Linear", "b.2": "Tanh"},
    "ends": {"proj": "Linear", "a.proj": "Linear", "b.a.proj": "Linear", "c.proj": "LayerNorm", "b.proj": "Tanh"},
    "layers": {f"layers.{i}.{name}": kind for i in (0, 1, 10, 11)
               for name, kind in (("fc", "Linear" if i else "LayerNorm"), ("act", "Tanh"))},
    "points": {"a_b": "Linear", "norm": "LayerNorm", "a.b": "Linear", "tanh": "Tanh", "a.c.d": "Linear", "a.c_d": "Linear"},
    "signs": {"a+": "Linear", "tanh": "Tanh", "aa": "Linear", "a|aa": "Linear", "a-b": "Linear"},
}
for name, layers in NETS.items():
    new_net(name, layers)
    linears = [layer for layer, kind in layers.items() if kind == "Linear"]
    for chosen in (c for n in range(1, len(linears) + 1) for c in itertools.combinations(linears, n)):
        regex = [re.escape(layer) for layer in chosen]
        peft = peft_adapter(net_of(name), "of_peft", "|".join(regex), rank_pattern={f"^{regex[-1]}": 3},
                            alpha_pattern={f"^{regex[0]}": 7})
        expected = net_logits(peft)
        what = f"{name}: {', '.join(chosen)}"
        check_close(f"{what}, from peft", kaeru_logits("net", name, "load", "of_peft", "save", "of_kaeru"), expected)
        model = value_or_error(without_warnings, what, PeftModel.from_pretrained, net_of(name), "of_kaeru")
        check_close(f"{what}, to peft", model if isinstance(model, str) else net_logits(model), expected)
        check_close(f"{what}, back in kaeru", kaeru_logits("net", name, "load", "of_kaeru"), expected)
        for other in set(linears) - set(chosen):
            write_config("of_kaeru", read_config("of_kaeru") | {"target_modules": re.escape(other)})
            check_refused(f"{what}, but {other} is chosen", kaeru_logits("net", name, "load", "of_kaeru"), '"target_modules"')

# ---- llama finetune ------------------------------------------------------------------------------------------------------

base = finetune("learned")
expected = kaeru_logits("llama", "learned/model")
check_close("llama finetune: the adapter in kaeru", kaeru_logits("llama", base, "load", "learned/adapter"), expected)
model = without_warnings("llama finetune", AutoPeftModelForCausalLM.from_pretrained, "learned/adapter")
check_close("llama finetune: the adapter in peft, by the name of its base", library_logits(model.float()), expected)
check_close("llama finetune: the model with the adapter in its weights",
            library_logits(AutoModelForCausalLM.from_pretrained("learned/model", dtype=torch.float32)), expected)
check("llama finetune: it has learned",
      abs(expected - library_logits(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32))).max() > 0.01)

# ---- names that the model does not have --------------------------------------------------------------------------------

for kind, prefix in ("gpt2", "transformer."), ("llama", "model."), ("net", ""):
    folder = f"{kind}_named"
    shutil.copytree(f"{kind}_hidden_of_peft" if kind == "net" else f"{kind}_attention_of_peft", folder)
    tensors = load_file(f"{folder}/adapter_model.safetensors")
    start = f"base_model.model.{prefix}"
    other = {name.replace(start, "base_model.model.other."): t for name, t in tensors.items()}
    save_file(other, f"{folder}/adapter_model.safetensors")
    check_refused(f"{kind}: other names", kaeru_logits(kind, kind, "load", folder), '"base_model.model.other.')
    if prefix:
        name = next(iter(tensors))
        bare = name.replace(start, "base_model.model.")
        save_file(tensors | {bare: tensors[name].clone()}, f"{folder}/adapter_model.safetensors")
        check_refused(f"{kind}: names of both classes", kaeru_logits(kind, kind, "load", folder), f'unexpected: "{bare}"')

# ---- adapter_config.json: each setting absent and with values that are nothing, or not -----------------------------------

ABSENT = "(absent)"
VALUES = [ABSENT, None, {}, [], False, True, 0, 1, "", "none"]
# What kaeru opens although peft does not, or computes something else: the file of weights says of what rank adapters are.
FILE_COUNTS = ["r", "rank_pattern"]
# An empty object asks for defaults of a way to train that kaeru does not have.
TRAINED_OTHERWISE = ["velora_config"]
write_config("llama_attention_of_peft", usual := read_config("llama_attention_of_peft") | {
    "target_modules": ["q_proj", "v_proj"], "rank_pattern": {"q_proj": 3}, "alpha_pattern": {}})


def opened(folder):
    return library_logits(PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("llama"), folder))


NEUTRAL = {type(None): VALUES[1], dict: VALUES[2], list: VALUES[3], bool: VALUES[4]}


def neutral_values(key):
    """The values of the setting's type that are nothing: peft writes them if a program gives them to LoraConfig."""
    hint = typing.get_type_hints(LoraConfig).get(key)
    types = [typing.get_origin(t) or t for t in typing.get_args(hint) or [hint]]
    return [value for t, value in NEUTRAL.items() if t in types and not (key in TRAINED_OTHERWISE and value == {})]


unchanged = opened("llama_attention_of_peft")
for key in [f.name for f in dataclasses.fields(LoraConfig)] + ["a_later_setting"]:
    written = [ABSENT, *neutral_values(key)]
    for value in VALUES:
        config = {k: v for k, v in usual.items() if k != key} | ({} if value == ABSENT else {key: value})
        write_config("llama_attention_of_peft", config)
        found = kaeru_logits("llama", "llama", "load", "llama_attention_of_peft")
        what = f"adapter_config.json with {key}: {value!r}"
        if isinstance(found, str) and not any(value is w for w in written):
            check(f"{what} is refused by name", f'"{key}"' in found, found)
            continue
        expected = value_or_error(opened, "llama_attention_of_peft")
        if isinstance(found, str):
            plain = not isinstance(expected, str) and abs(expected - unchanged).max() < 1e-6
            check(f"{what} is refused by name", f'"{key}"' in found and not plain, found)
            continue
        if isinstance(expected, str):
            check(f"{what} is opened, but peft refuses it", key in FILE_COUNTS or value is False, expected)
        elif key not in FILE_COUNTS:
            check_close(what, found, expected)

for value in 0, -1, 2.0, "x", None, [], {}:
    write_config("llama_attention_of_peft", usual | {"rank_pattern": {"q_proj": value}})
    check_refused(f"rank_pattern has {value!r}", kaeru_logits("llama", "llama", "load", "llama_attention_of_peft"),
                  '"rank_pattern"')
    check(f"peft refuses {value!r} in rank_pattern", isinstance(value_or_error(opened, "llama_attention_of_peft"), str))

# ---- adapter_config.json: settings that choose other Linears than the file of weights has ------------------------------------

for kind, first, second, word, whole in (
        ("llama", "q_proj", "up_proj", "layers", "model.layers.0.self_attn.q_proj"),
        ("gpt2", "c_attn", "c_fc", "h", "transformer.h.0.attn.c_attn")):
    folder = f"{kind}_chosen"
    everything = library_logits(peft_adapter(AutoModelForCausalLM.from_pretrained(kind), folder, [first, second]))
    usual = {key: value for key, value in read_config(folder).items() if key != "target_modules"}
    lists = [[first], [second, first], [second, whole]]
    layers = [(None, None), (0, None), ([], None), ([0, 1], None), ([1], word), ([0, 1], ["other", word]), (0, "other")]
    choices = [(targets, *layer) for targets in lists for layer in layers]
    choices += [(targets, None, None) for targets in (whole, "all-linear", first, None)]
    for (targets, number, pattern), excluded in itertools.product(choices, (None, ["other"], [second], whole)):
        choice = {"target_modules": targets, "layers_to_transform": number, "layers_pattern": pattern,
                  "exclude_modules": excluded}
        write_config(folder, usual | choice)
        found = kaeru_logits(kind, kind, "load", folder)
        model = value_or_error(lambda: library_logits(
            PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(kind), folder)))
        what = f"{kind}: an adapter with {choice}"
        if isinstance(found, str):
            check(f"{what} is refused by name", '_modules"' in found or '"layers_to_transform"' in found, found)
            check(f"{what} is refused, and ignored by peft", isinstance(model, str) or abs(model - everything).max() > 1e-3)
        else:
            check_close(what, found, everything)
            check(f"{what} is opened, and by peft", not isinstance(model, str) and abs(model - everything).max() < 1e-3,
                  model if isinstance(model, str) else "")

finish()
