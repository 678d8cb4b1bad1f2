"""All models of torchvision for classification, segmentation, video and optical flow."""

import torch

MODULES = ("classification", "segmentation", "video", "optical_flow")


def _kind(builder):
    """Which of MODULES a builder belongs to, or "" (detection, quantization)."""
    parts = builder.__module__.split(".")  # torchvision.models.video.resnet
    if "quantization" in parts or "detection" in parts:
        return ""
    return next((part for part in parts[2:-1] if part in MODULES), "classification")


def names():
    from torchvision import models
    return [name for name in models.list_models() if _kind(models.get_model_builder(name))]


# Square images at least this large, where the model asks for more than 64.
SIDES = {"inception_v3": 299, "vit_h_14": 518, "maxvit_t": 224}


def _side(name):
    if name.startswith("vit_") and name not in SIDES:
        return 224
    return SIDES.get(name, 64)


def build(model):
    from torchvision import models
    kind = _kind(models.get_model_builder(model))
    options = {"weights_backbone": None} if kind == "segmentation" else {}
    if model in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    if model == "vit_h_14":
        options["image_size"] = 518
    net = models.get_model(model, weights=None, **options)
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    inputs, loss, targets = {"segmentation": _segmentation, "video": _video,
                             "optical_flow": _flow}.get(kind, _classification)(_side(model), model)
    return {"model": net, "example_inputs": inputs, "loss": loss, "optimizer": optimizer,
            "targets": targets}


def _labels():
    return (torch.zeros(2, dtype=torch.int64),)


def _classification(side, _):
    def loss(output, target):
        outputs = output if isinstance(output, tuple) else (output,)
        return sum(torch.nn.functional.cross_entropy(o, target) for o in outputs if o is not None)
    return (torch.zeros(2, 3, side, side),), loss, _labels()


def _segmentation(side, _):
    def loss(output, target):
        return sum(torch.nn.functional.cross_entropy(o, target) for o in output.values())
    return (torch.zeros(2, 3, side, side),), loss, (torch.zeros(2, side, side, dtype=torch.int64),)


def _video(_, name):
    side = 224 if name.startswith(("mvit", "swin", "s3d")) else 112
    return (torch.zeros(2, 3, 16, side, side),), torch.nn.functional.cross_entropy, _labels()


def _flow(_, __):
    def loss(flows, target):
        return sum((flow - target).abs().mean() for flow in flows)
    image = torch.zeros(1, 3, 128, 128)
    return (image, torch.zeros(1, 3, 128, 128)), loss, (torch.zeros(1, 2, 128, 128),)
