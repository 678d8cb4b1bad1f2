"""Training steps of models of torchvision, diffusers and transformers, for placewright_export.py.

    placewright_export.py bench/models/steps.py:vision --set name=resnet50 --set batch=8 --batch 8 ...

Each function returns what export() takes. Models have no weights from anywhere: nothing is fetched.
"""

import importlib

import torch
from torch import nn
from torch.nn import functional as F


def step(model, inputs, batch, loss=None, targets=None):
    """The parts of a step with AdamW over what is trained."""
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    return {"model": model, "example_inputs": inputs, "loss": loss, "targets": targets,
            "optimizer": torch.optim.AdamW(trained, lr=1e-4), "batch": batch}


def integers(batch, *sizes):
    return torch.zeros(batch, *sizes, dtype=torch.int64)


class Mixed(nn.Module):
    """A model under autocast to bf16, as mixed precision trains it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *arguments):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.model(*arguments)


# torchvision

def segmentation_loss(output, target):
    """That of torchvision's reference: cross entropy, the second head's weighed by a half."""
    loss = F.cross_entropy(output["out"].float(), target)
    return loss + 0.5 * F.cross_entropy(output["aux"].float(), target) if "aux" in output else loss


def classification_loss(output, target):
    """Cross entropy of the scores; second classifiers count 0.3, as published."""
    if torch.is_tensor(output):
        return F.cross_entropy(output.float(), target)
    main, *others = [scores for scores in output if scores is not None]
    return F.cross_entropy(main.float(), target) + sum(
        0.3 * F.cross_entropy(scores.float(), target) for scores in others)


def vision(name, batch, image=224, frames=None, mixed=False, **options):
    """A classifier of images or videos, or a segmentation, by the name of its builder."""
    from torchvision import models
    builder = models.get_model_builder(name)
    segments = builder.__module__.startswith("torchvision.models.segmentation")
    if segments:
        options.setdefault("weights_backbone", None)
    model = builder(weights=None, **options)
    size = (image, image) if frames is None else (frames, image, image)
    target = integers(batch, image, image) if segments else integers(batch)
    return step(Mixed(model) if mixed else model, (torch.zeros(batch, 3, *size),), batch,
                segmentation_loss if segments else classification_loss, (target,))


class Detector(nn.Module):
    """What torchvision's detectors learn without matching boxes: their heads' outputs everywhere."""

    def __init__(self, model):
        super().__init__()
        self.backbone, self.head = model.backbone, getattr(model, "head", None) or model.rpn.head

    def forward(self, images):
        features = list(self.backbone(images).values())
        outputs = self.head(features)
        outputs = outputs.values() if isinstance(outputs, dict) else [
            level.flatten(1) for kind in outputs for level in kind]
        return sum(output.float().square().mean() for output in outputs)


def detector(name, batch, image=800, whole=False, boxes=16):
    """A detector of torchvision: the whole model with its matching, or backbone and heads."""
    from torchvision import models
    model = models.get_model(name, weights=None, weights_backbone=None)
    images = torch.zeros(batch, 3, image, image)
    if not whole:
        return step(Detector(model), (images,), batch)
    targets = [{"boxes": torch.zeros(boxes, 4), "labels": integers(boxes),
                "masks": torch.zeros(boxes, image, image, dtype=torch.uint8)} for _ in range(batch)]

    def loss(output):
        return sum(output.values())

    return step(model, (list(images.unbind()), targets), batch, loss)


# diffusers

class Noised(nn.Module):
    """One step of diffusion training: noise and time step are drawn, the model predicts the noise.

    kind "ddpm": x_t = sqrt(a_t) x + sqrt(1 - a_t) noise, t an integer below 1000; "flow":
    x_t = (1 - t) x + t noise, and noise - x is predicted."""

    def __init__(self, model, kind, sample, time, fixed):
        super().__init__()
        self.model, self.kind, self.sample, self.time, self.fixed = model, kind, sample, time, fixed
        keeps = torch.linspace(0.00085 ** 0.5, 0.012 ** 0.5, 1000).square().neg().add(1).cumprod(0)
        self.register_buffer("keeps", keeps)

    def forward(self, clean, **conditions):
        noise = torch.randn_like(clean)
        ones = (-1,) + (1,) * (clean.dim() - 1)
        if self.kind == "ddpm":
            time = torch.randint(0, 1000, (clean.shape[0],), device=clean.device)
            keep = self.keeps[time].to(clean.dtype).view(ones)
            noisy, wanted = keep.sqrt() * clean + (1 - keep).sqrt() * noise, noise
            said = time
        else:
            time = torch.sigmoid(torch.randn(clean.shape[0], device=clean.device))
            share = time.to(clean.dtype).view(ones)
            noisy, wanted = (1 - share) * clean + share * noise, noise - clean
            said = time if self.kind == "flow" else (1000 * time).to(torch.int64)
            said = said.to(clean.dtype) if said.is_floating_point() else said
        given = {**self.fixed, **conditions, self.sample: noisy, self.time: said}
        predicted = self.model(**given, return_dict=False)[0]
        predicted = predicted if torch.is_tensor(predicted) else torch.stack(list(predicted))
        if predicted.shape[1] == 2 * wanted.shape[1]:  # the variance as well
            predicted = predicted.chunk(2, dim=1)[0]
        return F.mse_loss(predicted.float(), wanted.float())


KINDS = {"i64": torch.int64, "f32": torch.float32, "bool": torch.bool}


def tensors(sizes, batch, dtype):
    """name -> [type] sizes: "b" is the batch; a first element "i64", "f32" or "bool" is the type.
    What is no list is given as it is."""
    made = {}
    for name, shape in sizes.items():
        if not isinstance(shape, list):
            made[name] = shape
            continue
        kind = dtype
        if shape and shape[0] in KINDS:
            kind, shape = KINDS[shape[0]], shape[1:]
        made[name] = torch.zeros([batch if size == "b" else size for size in shape], dtype=kind)
    return made


def diffusion(name, batch, config, clean, conditions=None, fixed=None, kind="ddpm", sample="sample",
              time="timestep", checkpointing=False, dtype="bfloat16"):
    """A model of diffusers by class and configuration. `clean` are the sizes of a sample without
    the batch, `conditions` and `fixed` inputs besides: those with the batch and those without."""
    import diffusers
    dtype = getattr(torch, dtype)
    model = getattr(diffusers, name).from_config(config).to(dtype)
    if checkpointing:
        model.enable_gradient_checkpointing()
    noised = Noised(model, kind, sample, time, tensors(fixed or {}, batch, dtype))
    return step(noised, {"clean": torch.zeros(batch, *clean, dtype=dtype),
                         **tensors(conditions or {}, batch, dtype)}, batch)


class Reconstruction(nn.Module):
    """An autoencoder's step: what comes back, and how far its code is from a normal distribution."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        if hasattr(self.model, "quantize"):
            code = self.model.encode(image, return_dict=False)[0]
            back, commitment = self.model.decode(code, return_dict=False)
            return F.mse_loss(back.float(), image.float()) + commitment.float().mean()
        posterior = self.model.encode(image, return_dict=False)[0]
        back = self.model.decode(posterior.sample(), return_dict=False)[0]
        return F.l1_loss(back.float(), image.float()) + 1e-6 * posterior.kl().mean()


def autoencoder(name, batch, config, image, dtype="bfloat16"):
    """AutoencoderKL, VQModel and their like; `image` are its sizes without the batch."""
    import diffusers
    dtype = getattr(torch, dtype)
    model = getattr(diffusers, name).from_config(config).to(dtype)
    return step(Reconstruction(model), (torch.zeros(batch, *image, dtype=dtype),), batch)


# transformers

def language(model_type, batch, config, sequence=1024, checkpointing=False, lora=None,
             dtype="bfloat16"):
    """A causal language model, its activations checkpointed, or with adapters on modules `lora`."""
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM
    config = CONFIG_MAPPING[model_type](**config, use_cache=False)
    model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    if lora:
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=lora,
                                                 task_type="CAUSAL_LM"))
    if checkpointing:
        if lora:
            model.enable_input_require_grads()
        model.gradient_checkpointing_enable({"use_reentrant": False})
    words = integers(batch, sequence)
    return step(model, {"input_ids": words, "labels": words.clone()}, batch)


def general(model_class, batch, config, inputs, dtype="float32", mixed=False, settings=None):
    """Any model of transformers: its class, its configuration, and inputs by name (as `tensors`
    takes them). Its loss is the model's own, or the mean of what it returns."""
    library = importlib.import_module("transformers")
    kind = getattr(library, model_class)
    config = kind.config_class(**config)
    if config.is_encoder_decoder:
        config.use_cache = False
    model = kind._from_config(config, dtype=getattr(torch, dtype), **(settings or {}))
    made = tensors(inputs, batch, getattr(torch, dtype))
    return step(model, made, batch, None if set(made) & LABELS else mean_of_outputs)


LABELS = {"labels", "start_positions", "return_loss", "mask_labels"}


def mean_of_outputs(output):
    return sum(value.float().square().mean() for value in output.values()
               if torch.is_tensor(value) and value.is_floating_point() and value.requires_grad)
