"""Random numbers that count, as docs/formats/aten-graph.md states them: element e of the whole
tensor takes word e mod 4 of Philox4x32-10 (Salmon et al. 2011), so that each device draws its part.

Masks and integers are those of `placewright run` to the last bit; real numbers up to the rounding
of log, cos and tan.
"""

import math

import torch

LOW = 0xFFFFFFFF
WORDS = {"normal": 2, "log_normal": 2, "integers": 2}  # of an element; else 1


def philox(block, draw, step, seed):
    """Four words for each element of `block`, int64 tensors with values in [0, 2^32). `step` is an
    int64 tensor of one element."""
    words = [block & LOW, block >> 32, torch.full_like(block, draw & LOW),
             (step & LOW).to(block.device).expand_as(block)]
    key = [seed & LOW, seed >> 32 & LOW]
    for _ in range(10):
        first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]  # wrap: the low 64 bits
        words = [(second >> 32 & LOW) ^ words[1] ^ key[0], second & LOW,
                 (first >> 32 & LOW) ^ words[3] ^ key[1], first & LOW]
        key = [(key[0] + 0x9E3779B9) & LOW, (key[1] + 0xBB67AE85) & LOW]
    return words


def _elements(shape, place, device):
    """The index in the whole, row-major, of each element of a part. `place`: of each axis that is
    cut dimension, outer, size, from and to, as they are in the whole."""
    index = torch.zeros((), dtype=torch.int64, device=device)
    stride = 1
    for dimension in reversed(range(len(shape))):
        cuts = sorted(tuple(place[i + 1:i + 5]) for i in range(0, len(place), 5)
                      if place[i] == dimension)
        factors, outer, left = [], 1, shape[dimension]  # of each: length, length in the whole, from
        for before, size, begin, end in cuts:
            factors += [(before // outer, before // outer, 0), (end - begin, size, begin)]
            left //= before // outer * (end - begin)
            outer = before * size
        rest = torch.arange(shape[dimension], device=device)
        at, unit = torch.zeros_like(rest), 1
        for length, whole, begin in reversed(factors + [(left, left, 0)]):
            at += (rest.remainder(length) + begin) * unit
            rest, unit = rest.div(length, rounding_mode="floor"), unit * whole
        index = index + (at * stride).view([-1] + [1] * (len(shape) - 1 - dimension))
        stride *= unit
    return index.expand(shape).reshape(-1)


def _words(shape, place, step, seed, draw, count=1):
    """`count` words for each element of a part, as rows."""
    elements = _elements(shape, place, step.device)
    of_block = 4 // count
    blocks, inverse = torch.unique(elements.div(of_block, rounding_mode="floor"),
                                   return_inverse=True)
    words = torch.stack(philox(blocks, draw, step.reshape(()), seed), 1)
    first = elements.remainder(of_block) * count
    return [words[inverse, first + k] for k in range(count)]


def _mask(like, step, seed, draw, p, place):
    below = math.floor(p * 2.0**32 + 0.5)
    word, = _words(like.shape, place, step, seed, draw)
    return (word < below).view(like.shape).to(like.device)


def _between(word):
    return (word.double() + 0.5) / 2.0**32


def _normal(words):
    return torch.sqrt(-2 * torch.log(_between(words[0]))) * \
        torch.cos(2 * math.pi * (words[1].double() / 2.0**32))


def _below(words, count):
    """floor((w1 2^32 + w2) count / 2^64), of two words and a count below 2^63, without 128 bits."""
    high, low = count >> 32, count & LOW
    carry = _high(words[1], low) + (words[1] * high & LOW) + (words[0] * low & LOW)
    return words[0] * high + _high(words[1], high) + _high(words[0], low) + (carry >> 32)


def _high(word, factor):
    """The upper 32 of the 64 bits of a product of two numbers below 2^32."""
    return word * factor >> 32 & LOW


def _numbers(shape, dtype, step, seed, draw, distribution, a, b, place):
    words = _words(shape, place, step, seed, draw, WORDS.get(distribution, 1))
    if distribution == "uniform":
        digits = {torch.float16: 11, torch.bfloat16: 8}.get(dtype, 24)
        made = a + (b - a) * ((words[0] >> 32 - digits).double() / 2.0**digits)
    elif distribution == "exponential":
        made = -torch.log(_between(words[0])) / a
    elif distribution == "cauchy":
        made = a + b * torch.tan(math.pi * (_between(words[0]) - 0.5))
    elif distribution == "geometric":
        made = torch.ceil(torch.log(_between(words[0])) / math.log1p(-a)).clamp(min=1)
    elif distribution == "normal":
        made = a + b * _normal(words)
    elif distribution == "log_normal":
        made = torch.exp(a + b * _normal(words))
    elif distribution == "integers":
        made = int(a) + _below(words, int(b - a))
    else:
        raise ValueError(f"no distribution is called {distribution}")
    return made.view(shape).to(dtype)


def counter_bernoulli_(x, step, seed, draw, p, place):
    return x.copy_(_mask(x, step, seed, draw, p, place))


def counter_bernoulli_of(p, step, seed, draw, place):
    word, = _words(p.shape, place, step, seed, draw)
    below = torch.floor(p.double().reshape(-1) * 2.0**32 + 0.5).to(torch.int64)
    return (word.to(p.device) < below).view(p.shape).to(p.dtype)


def counter_dropout(x, step, seed, draw, p, place):
    mask = _mask(x, step, seed, draw, 1 - p, place)
    return x * mask * (0 if p == 1 else 1 / (1 - p)), mask


def counter_draw_(x, step, seed, draw, distribution, a, b, place):
    made = _numbers(list(x.shape), x.dtype, step, seed, draw, distribution, a, b, place)
    return x.copy_(made)


def counter_draw_like(x, step, seed, draw, distribution, a, b, place, dtype=None, **_):
    made = _numbers(list(x.shape), dtype or x.dtype, step, seed, draw, distribution, a, b, place)
    return made.to(x.device)


def counter_draw_new(size, step, seed, draw, distribution, a, b, place, dtype=None, device=None,
                     **_):
    usual = torch.int64 if distribution == "integers" else torch.get_default_dtype()
    made = _numbers(list(size), dtype or usual, step, seed, draw, distribution, a, b, place)
    return made.to(device or step.device)


OPERATORS = {operator.__name__: operator for operator in (
    counter_bernoulli_, counter_bernoulli_of, counter_dropout, counter_draw_, counter_draw_like,
    counter_draw_new)}
