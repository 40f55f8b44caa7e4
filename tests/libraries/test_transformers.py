"""Models that the library transformers opens and writes, beside kaeru's."""
import torch
from check import check_close, enter_folder, finish
from models import KINDS, kaeru_logits, library_logits, new_folder
from transformers import AutoModelForCausalLM

enter_folder()
torch.manual_seed(0)

for kind in KINDS:
    base = new_folder(kind)
    expected = library_logits(AutoModelForCausalLM.from_pretrained(base))
    check_close(f"{kind}: kaeru opens what transformers wrote", kaeru_logits(kind, base), expected)
    written = f"{kind}_written"
    kaeru_logits(kind, base, "write", written)
    check_close(f"{kind}: transformers opens what kaeru wrote",
                library_logits(AutoModelForCausalLM.from_pretrained(written)), expected)

finish()
