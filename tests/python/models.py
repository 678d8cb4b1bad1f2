"""Small models of the kinds that people train, written for these tests."""

import torch
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))


class Block(nn.Module):
    """Two convolutions and a shortcut; a convolution on it where the shape changes."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False),
                                          nn.BatchNorm2d(after))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


def resnet():
    """For images of 16 x 16."""
    return nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8),
                         nn.ReLU(inplace=True), Block(8, 8, 1), Block(8, 16, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or before != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(before, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, 1)]
    before = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(before, width, stride if i == 0 else 1))
            before = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        split = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class TransformerLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.dropout(self.outer(nn.functional.gelu(self.inner(self.norm2(x)))))


class LanguageModel(nn.Module):
    """A transformer, or an LSTM, between an embedding and a head that may share its weight."""

    def __init__(self, body, words, width, tied):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.body = body
        self.head = nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.body(self.embedding(ids))
        x = x[0] if isinstance(x, tuple) else x
        return self.head(x).flatten(0, 1)


def transformer(tied):
    return LanguageModel(TransformerLayer(16, 2, 32), 11, 16, tied)


def lstm(tied):
    return LanguageModel(nn.LSTM(64, 64), 1000, 64, tied)
