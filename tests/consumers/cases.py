"""Models of transformers and diffusers, built from configurations without trained weights.

`case(NAME).build("small")` gives a model that a CPU runs in a moment, "real" one of a published
size, to be built without memory (the exporter does, or torch.device("meta")).
"""

import typing

import torch


class Step(typing.NamedTuple):
    model: torch.nn.Module
    inputs: dict  # keyword arguments of forward, targets among them where the model has a loss
    loss: typing.Any = None  # None: the model computes its own
    targets: typing.Any = None


class Case(typing.NamedTuple):
    build: typing.Any  # "small" or "real" -> Step
    whole: tuple  # globs of modules that stay whole, each by itself, when the model is divided
    tied: tuple = ()  # globs of modules that share a weight, which lies on one GPU


def _pick(size, small, real):
    return small if size == "small" else real


def _tokens(size, small, real, vocabulary=128):
    return torch.randint(0, vocabulary, _pick(size, small, real))


def _causal(config, size, real=(1, 512)):
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_config(config)
    ids = _tokens(size, (2, 16), real)
    return Step(model, {"input_ids": ids, "labels": ids.clone(), "use_cache": False})


SMALL = dict(vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=4,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)


def llama(size):
    from transformers import LlamaConfig
    # Llama-2-7B is the configuration's default.
    return _causal(LlamaConfig(**_pick(size, SMALL, {})), size)


def mixtral(size):
    from transformers import MixtralConfig
    # Mixtral-8x7B is the default; four of its 32 layers are what eight GPUs hold with Adam. Experts
    # as one product that gathers the weights of each token's: other ways of routing have sizes that
    # depend on the data.
    sizes = _pick(size, dict(SMALL, num_local_experts=4), dict(num_hidden_layers=4))
    config = MixtralConfig(**sizes)
    config._experts_implementation = "batched_mm"
    return _causal(config, size, (1, 16))


def qwen2(size):
    from transformers import Qwen2Config
    # Qwen2-0.5B: tied weights.
    real = dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
                num_attention_heads=14, num_key_value_heads=2, vocab_size=151936)
    return _causal(Qwen2Config(**_pick(size, SMALL, real), tie_word_embeddings=True), size)


def qwen3(size):
    from transformers import Qwen3Config
    real = dict(hidden_size=2048, intermediate_size=6144, num_hidden_layers=28, head_dim=128,
                num_attention_heads=16, num_key_value_heads=8, vocab_size=151936)  # Qwen3-1.7B
    return _causal(Qwen3Config(**_pick(size, dict(SMALL, head_dim=8), real)), size)


def bert(size):
    from transformers import BertConfig, BertForMaskedLM
    sizes = {k: v for k, v in SMALL.items() if k != "num_key_value_heads"}
    real = dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24,
                num_attention_heads=16)  # BERT-Large
    ids = _tokens(size, (2, 16), (8, 384))
    return Step(BertForMaskedLM(BertConfig(**_pick(size, sizes, real))),
                {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()})


def vit(size):
    from transformers import ViTConfig, ViTForImageClassification
    sizes = dict(image_size=32, patch_size=8, hidden_size=32, intermediate_size=64,
                 num_hidden_layers=4, num_attention_heads=4, num_labels=10)
    config = ViTConfig(**_pick(size, sizes, dict(num_labels=1000)))  # ViT-B/16
    side, batch = _pick(size, (32, 2), (224, 32))
    return Step(ViTForImageClassification(config),
                {"pixel_values": torch.randn(batch, 3, side, side),
                 "labels": torch.randint(0, 10, (batch,))})


def whisper(size):
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    sizes = dict(vocab_size=128, d_model=32, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                 decoder_ffn_dim=64, num_mel_bins=8, max_source_positions=32,
                 max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                 decoder_start_token_id=1)
    real = dict(d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12,
                decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072)  # small
    config = WhisperConfig(**_pick(size, sizes, real))
    batch, frames = _pick(size, (2, 64), (4, 3000))
    ids = _tokens(size, (2, 12), (4, 128))
    return Step(WhisperForConditionalGeneration(config),
                {"input_features": torch.randn(batch, config.num_mel_bins, frames),
                 "labels": ids, "use_cache": False})


def t5(size):
    from transformers import T5Config, T5ForConditionalGeneration
    sizes = dict(vocab_size=128, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                 decoder_start_token_id=0)
    real = dict(d_model=768, d_ff=3072, num_layers=12, num_heads=12,
                decoder_start_token_id=0)  # T5-Base
    ids = _tokens(size, (2, 16), (8, 512))
    return Step(T5ForConditionalGeneration(T5Config(**_pick(size, sizes, real))),
                {"input_ids": ids, "labels": ids[:, :12].clone(), "use_cache": False})


def unet(size):
    from diffusers import UNet2DConditionModel
    sizes = dict(sample_size=16, block_out_channels=(32, 64), layers_per_block=1,
                 cross_attention_dim=32, attention_head_dim=8,
                 down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                 up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    real = dict(sample_size=64, cross_attention_dim=768, attention_head_dim=8)  # SD 1.5
    side, batch, words, width = _pick(size, (16, 2, 7, 32), (64, 2, 77, 768))
    return Step(UNet2DConditionModel(**_pick(size, sizes, real)),
                {"sample": torch.randn(batch, 4, side, side),
                 "timestep": torch.full((batch,), 10, dtype=torch.int64),
                 "encoder_hidden_states": torch.randn(batch, words, width)},
                loss=noise_loss, targets=(torch.randn(batch, 4, side, side),))


def noise_loss(output, noise):
    return torch.nn.functional.mse_loss(output.sample, noise)


CASES = {
    "llama": Case(llama, ("model.layers.*",)),
    "mixtral": Case(mixtral, ("model.layers.*",)),
    "qwen2": Case(qwen2, ("model.layers.*",), ("model.embed_tokens", "lm_head")),
    "qwen3": Case(qwen3, ("model.layers.*",)),
    "bert": Case(bert, ("bert.encoder.layer.*", "bert.embeddings"), ("bert.embeddings", "cls")),
    "vit": Case(vit, ("vit.layers.*", "vit.embeddings")),
    # The encoder adds the table of positions itself; the decoder's head is its table of words.
    "whisper": Case(whisper, ("model.encoder.layers.*", "model.decoder.layers.*"),
                    ("model.encoder.conv*", "model.encoder.embed_positions",
                     "model.decoder.embed_*", "proj_out")),
    "t5": Case(t5, ("encoder.block.*", "decoder.block.*"),
               ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head")),
    "unet": Case(unet, ("down_blocks.*", "mid_block", "up_blocks.*")),
}


def build(model, size="small"):
    """For `placewright_export.py cases.py:build --set model=llama --set size=real`."""
    step = CASES[model].build(size)
    step.model.train()
    for module in step.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return {"model": step.model, "example_inputs": step.inputs, "loss": step.loss,
            "targets": step.targets, "optimizer": torch.optim.Adam(step.model.parameters())}
