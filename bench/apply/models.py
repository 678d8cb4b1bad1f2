"""Small models of the kinds that people train, for `python -m placewright.bench`."""

import torch
from torch import nn
from torch.nn import functional as F


def mlp(width=512, layers=6, size=64, fused=None):
    """A perceptron with ReLU."""
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers)]
    model = nn.Sequential(*blocks, nn.Linear(width, 10))
    return _classifier(model, torch.randn(size, width), 10, fused)


def cnn(size=16, channels=32):
    """Convolutions with batch norms and two residual blocks, on images of 32 x 32."""
    torch.manual_seed(0)
    model = nn.Sequential(_convolution(3, channels), _Residual(channels), nn.MaxPool2d(2),
                          _Residual(channels), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(channels, 10))
    return _classifier(model, torch.randn(size, 3, 32, 32), 10)


def llama(size=4, words=64, width=128, layers=4):
    """Grouped queries, tied weights."""
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=1024, hidden_size=width, intermediate_size=3 * width, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=words,
        tie_word_embeddings=True, use_cache=False))
    text = torch.randint(0, 1024, (size, words))
    return model, {"input_ids": text, "labels": text.clone()}, None, _adamw(model)


def vit(size=4, width=128, layers=4):
    """A vision transformer on images of 64 x 64 in patches of 8 x 8."""
    from torchvision.models import VisionTransformer
    torch.manual_seed(0)
    model = VisionTransformer(image_size=64, patch_size=8, num_layers=layers, num_heads=4,
                              hidden_dim=width, mlp_dim=4 * width, num_classes=10)
    return _classifier(model, torch.randn(size, 3, 64, 64), 10)


def _classifier(model, images, classes, fused=None):
    targets = torch.randint(0, classes, (len(images),))
    return model, images, F.cross_entropy, _adamw(model, fused), targets


def _adamw(model, fused=None):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused)


def _convolution(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU())


class _Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(_convolution(channels, channels),
                                    _convolution(channels, channels))

    def forward(self, x):
        return x + self.layers(x)
