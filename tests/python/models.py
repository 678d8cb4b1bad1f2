"""Small models of the kinds that people train, written for these tests."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


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


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def half_turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


class GroupedAttention(nn.Module):
    """Rotary positions, and fewer heads of keys and values than of queries."""

    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, cos, sin, mask):
        batch, length, width = x.shape
        q, k, v = (each(x).view(batch, length, -1, self.size).transpose(1, 2)
                   for each in (self.q, self.k, self.v))
        q, k = q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin
        many = (batch, self.groups, self.heads // self.groups, length, self.size)
        k, v = (t[:, :, None].expand(many).reshape(q.shape) for t in (k, v))
        weights = torch.softmax(q @ k.transpose(-1, -2) * self.size ** -0.5 + mask, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class GatedMlp(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Every expert computes all tokens; the gate keeps two of them for each."""

    def __init__(self, width, inner, count):
        super().__init__()
        self.gate = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList(GatedMlp(width, inner) for _ in range(count))

    def forward(self, x):
        share = torch.softmax(self.gate(x), -1)
        share = share * (share >= share.topk(2, -1)[0][..., -1:])
        return sum(share[..., i:i + 1] * expert(x) for i, expert in enumerate(self.experts))


class LlamaLayer(nn.Module):
    def __init__(self, width, mlp):
        super().__init__()
        self.norm1, self.attention = RmsNorm(width), GroupedAttention(width, 4, 2)
        self.norm2, self.mlp = RmsNorm(width), mlp

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.norm1(x), cos, sin, mask)
        return x + self.mlp(self.norm2(x))


class Llama(nn.Module):
    """The model holds the rotary tables, which all layers read."""

    def __init__(self, layers, tied, experts=0, words=50, width=32, checkpointed=False):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(
            LlamaLayer(width, Experts(width, 64, experts) if experts else GatedMlp(width, 64))
            for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, words, bias=False)
        self.checkpointed = checkpointed
        if tied:
            self.head.weight = self.embedding.weight
        angles = torch.outer(torch.arange(64.0), 1e4 ** (-torch.arange(0, 8, 2) / 8)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids):
        length = ids.shape[1]
        x, cos, sin = self.embedding(ids), self.cos[:length], self.sin[:length]
        mask = torch.full((length, length), -1e9).triu(1)
        for layer in self.layers:
            if self.checkpointed:
                x = checkpoint(layer, x, cos, sin, mask, use_reentrant=True)
            else:
                x = layer(x, cos, sin, mask)
        return self.head(self.norm(x)).flatten(0, 1)


class RelativeAttention(nn.Module):
    """Each pair of patches adds what a table says of its offset."""

    def __init__(self, width, heads, side):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.zeros((2 * side - 1) ** 2, heads))
        y, x = torch.arange(side ** 2) // side, torch.arange(side ** 2) % side
        offset = (y[:, None] - y + side - 1) * (2 * side - 1) + x[:, None] - x + side - 1
        self.register_buffer("offset", offset.flatten())

    def forward(self, x):
        batch, length, width = x.shape
        split = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        bias = self.table[self.offset].view(length, length, self.heads).permute(2, 0, 1)
        weights = torch.softmax(q @ k.transpose(-1, -2) * 0.3 + bias, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class VisionLayer(nn.Module):
    def __init__(self, width, side):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), RelativeAttention(width, 4, side)
        self.norm2, self.scale = nn.LayerNorm(width), nn.Parameter(torch.ones(width))
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x):
        x = x + self.scale * self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """For images of 16 x 16."""

    def __init__(self, layers, width=32):
        super().__init__()
        self.patch, self.position = nn.Conv2d(3, width, 4, 4), nn.Parameter(torch.zeros(16, width))
        self.layers = nn.Sequential(*(VisionLayer(width, 4) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2) + self.position
        return self.head(self.norm(self.layers(x)).mean(1))


class BiasedAttention(nn.Module):
    """Attention whose position bias the first layer makes and all others take over."""

    def __init__(self, width, heads, makes_bias):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.relative = nn.Embedding(32, heads) if makes_bias else None

    def forward(self, x, memory, bias=None):
        q, k, v = (each(t).view(*t.shape[:2], self.heads, -1).transpose(1, 2)
                   for each, t in ((self.q, x), (self.k, memory), (self.v, memory)))
        if self.relative is not None:
            ahead = torch.arange(memory.shape[1])[None] - torch.arange(x.shape[1])[:, None]
            bias = self.relative(ahead.abs().clamp(max=31)).permute(2, 0, 1)
        scores = q @ k.transpose(-1, -2)
        weights = torch.softmax(scores if bias is None else scores + bias, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape)), bias


class BiasedLayer(nn.Module):
    def __init__(self, width, first, crosses):
        super().__init__()
        self.norm1, self.attention = RmsNorm(width), BiasedAttention(width, 4, first)
        self.norm2 = RmsNorm(width) if crosses else None
        self.cross = BiasedAttention(width, 4, False) if crosses else None
        self.norm3, self.inner = RmsNorm(width), nn.Linear(width, 64, bias=False)
        self.outer, self.dropout = nn.Linear(64, width, bias=False), nn.Dropout(0.1)

    def forward(self, x, bias, memory=None):
        normed = self.norm1(x)
        y, bias = self.attention(normed, normed, bias)
        x = x + self.dropout(y)
        if self.cross is not None:
            x = x + self.dropout(self.cross(self.norm2(x), memory)[0])
        return x + self.dropout(self.outer(self.inner(self.norm3(x)).relu())), bias


class EncoderDecoder(nn.Module):
    """Both sides read one embedding, and so does the head; every layer of the decoder reads the
    encoder's output."""

    def __init__(self, layers, words=50, width=32):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.encoder = nn.ModuleList(BiasedLayer(width, i == 0, False) for i in range(layers))
        self.decoder = nn.ModuleList(BiasedLayer(width, i == 0, True) for i in range(layers))
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)

    def forward(self, source, target):
        x, bias = self.embedding(source), None
        for layer in self.encoder:
            x, bias = layer(x, bias)
        memory, y, bias = self.norm1(x), self.embedding(target), None
        for layer in self.decoder:
            y, bias = layer(y, bias, memory)
        return nn.functional.linear(self.norm2(y), self.embedding.weight).flatten(0, 1)


class TimedBlock(nn.Module):
    """Two convolutions that are given the time."""

    def __init__(self, before, after, times):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, before), nn.Conv2d(before, after, 3, 1, 1)
        self.time = nn.Linear(times, after)
        self.norm2, self.conv2 = nn.GroupNorm(4, after), nn.Conv2d(after, after, 3, 1, 1)
        self.shortcut = nn.Conv2d(before, after, 1) if before != after else None

    def forward(self, x, time):
        silu = nn.functional.silu
        y = self.conv1(silu(self.norm1(x))) + self.time(silu(time))[:, :, None, None]
        y = self.conv2(silu(self.norm2(y)))
        return y + (x if self.shortcut is None else self.shortcut(x))


class PixelAttention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.attention = nn.MultiheadAttention(channels, 4, batch_first=True)

    def forward(self, x):
        y = self.norm(x).flatten(2).transpose(1, 2)
        y = self.attention(y, y, y, need_weights=False)[0]
        return x + y.transpose(1, 2).reshape(x.shape)


class DiffusionUNet(nn.Module):
    """Two resolutions; what goes down is read again on the way up. For images of 16 x 16."""

    def __init__(self, blocks, channels=16):
        super().__init__()
        times, wide = 4 * channels, 2 * channels
        self.time = nn.Sequential(nn.Linear(channels, times), nn.SiLU(), nn.Linear(times, times))
        self.first = nn.Conv2d(3, channels, 3, 1, 1)
        self.down1 = nn.ModuleList(TimedBlock(channels, channels, times) for _ in range(blocks))
        self.shrink = nn.Conv2d(channels, wide, 3, 2, 1)
        self.down2 = nn.ModuleList(TimedBlock(wide, wide, times) for _ in range(blocks))
        self.attention = nn.ModuleList(PixelAttention(wide) for _ in range(blocks))
        self.up2 = nn.ModuleList(TimedBlock(2 * wide, wide, times) for _ in range(blocks))
        self.grow = nn.ConvTranspose2d(wide, channels, 2, 2)
        self.up1 = nn.ModuleList(TimedBlock(wide, channels, times) for _ in range(blocks))
        self.norm, self.last = nn.GroupNorm(4, channels), nn.Conv2d(channels, 3, 3, 1, 1)

    def forward(self, image, time):
        angles = time[:, None] * torch.exp(-torch.arange(8.0))
        time = self.time(torch.cat((angles.sin(), angles.cos()), 1))
        x, passed = self.first(image), []
        for block in self.down1:
            x = block(x, time)
            passed.append(x)
        x = self.shrink(x)
        for block, attention in zip(self.down2, self.attention):
            x = attention(block(x, time))
            passed.append(x)
        for block in self.up2:
            x = block(torch.cat((x, passed.pop()), 1), time)
        x = self.grow(x)
        for block in self.up1:
            x = block(torch.cat((x, passed.pop()), 1), time)
        return self.last(nn.functional.silu(self.norm(x)))
