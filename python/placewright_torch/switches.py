"""Which switch of a library lets a step be recorded that was refused, as text that can be copied.

Rows are tried in order; a row holds where its words stand in the error, or where the error arose in
one of its files, and, if it names classes, in a module of one of these.
"""

import re
import traceback
import typing


class Switch(typing.NamedTuple):
    words: str  # a regular expression of the error's text, or "" for any
    files: str  # one of the files that the error passed through, or "" for any
    classes: str  # one of the class of the module that ran, or "" for any
    remedy: str


MODEL = "AutoModel.from_config(config, {}) or .from_pretrained(..., {})"


def _of_model(setting):
    return MODEL.format(setting, setting)


SWITCHES = (
    Switch("depends on its data", r"transformers.(models|integrations)", r"Experts|Moe|MoE|Sparse",
           "build the model with batched experts, experts_implementation=\"grouped_mm\" (or "
           "\"batched_mm\"): " + _of_model('experts_implementation="grouped_mm"')),
    Switch(r"(?i)flex_?attention|BlockMask|block_mask", "", "",
           "use fused attention instead, which has the same sizes: with transformers "
           "attn_implementation=\"sdpa\": " + _of_model('attn_implementation="sdpa"') +
           "; in code of your own "
           "torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)"),
    Switch("", r"transformers.integrations.(flash|paged|eager_paged|sdpa_paged)|flash_attn", "",
           "use PyTorch's attention, attn_implementation=\"sdpa\": " +
           _of_model('attn_implementation="sdpa"')),
    Switch("", r"transformers.cache_utils", "",
           "leave the cache out, use_cache=False: model.config.use_cache = False"),
    Switch("", r"torch.nested", "",
           "give padded tensors and a mask instead of nested ones: torch.nested.to_padded_tensor(x, "
           "0.0); for the encoder of PyTorch enable_nested_tensor=False: "
           "torch.nn.TransformerEncoder(layer, n, enable_nested_tensor=False)"),
    Switch(r"_pack_padded_sequence|lengths' argument", "", "",
           "the step depends on its data, since packed sequences are as many words as their lengths "
           "say: give the LSTM or GRU the padded sequences, without pack_padded_sequence, and a "
           "mask to what follows; its time is that of sequences as long as the longest"),
    Switch(r"KeyError: ['\"].*FakeTensor", "", "",
           "the step depends on its data: it takes one of several modules by a number that it computes; "
           "where these are experts let the loop go over numbers of Python, for i in "
           "range(len(experts)), and say by --assume how many tokens each gets, or build a model with "
           "batched experts (its configuration takes experts_implementation)"),
    Switch(r"float8|float4", "", "",
           "record the step in bfloat16, with model.to(torch.bfloat16) and without the conversion to "
           "float8 (torchao: leave out convert_to_float8_training(model)); shapes are the same"),
    Switch("depends on its data", r"torchvision.models.detection", "",
           "record the parts of a detector whose sizes are fixed, as model.backbone(images), or say "
           "how many boxes count by --assume at each place"),
)


def remedy(error, module):
    """"; TEXT" with the switch for an error that arose while `module`, of which the class is
    asked, ran; "" where none is known."""
    text = f"{type(error).__name__}: {error}"
    files = []
    seen = error
    while seen is not None:
        files += [frame.filename for frame in traceback.extract_tb(seen.__traceback__)]
        seen = seen.__cause__ or seen.__context__
    for switch in SWITCHES:
        if switch.words and not re.search(switch.words, text):
            continue
        if switch.files and not any(re.search(switch.files, file) for file in files):
            continue
        if switch.classes and not re.search(switch.classes, module or ""):
            continue
        return f"; {switch.remedy}"
    return ""
