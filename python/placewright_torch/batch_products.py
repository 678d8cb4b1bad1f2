"""Numbers of a step that are proportional to a product of terms linear in the batch size N.

A law is such a product as text, in Python's arithmetic: "N", "1/N", "1/(N-1)" of an unbiased variance, "N*(N-1)" of
pairs, "N*N" of a mean over a square, "N/(N-1)", "1/(3*N-1)", "1/sqrt(N)". It is factors, each behind a `*` or a `/`;
a factor is `N`, `(N-1)`, `(3*N-1)`, or `sqrt` of one. docs/formats/aten-graph.md, "Other batch sizes", states it;
src/graph/batch/batch_product.h is the same in the program.
"""

import math
import re
from fractions import Fraction

LARGEST_REAL = 2**53  # below, every integer is a double
LARGEST_PARTS = 2**52  # of a fraction that stands for a real number: numerator times denominator
TOLERANCE = 2.0**-51

_TERM = re.compile(r"([*/]|^)(?:(1)(?=/)|(sqrt)?(?:\((?:(\d+)\*)?N([+-]\d+)?\)|(N)))")


def parse(text):
    """[(a, b, halves)], where the text is the product of (a * N + b) ** (halves / 2); halves: 1, 2 or negative."""
    factors, at = [], 0
    while at < len(text):
        term = _TERM.match(text, at)
        if not term or (at > 0 and not term[1]) or (term[2] and at > 0):
            raise ValueError(f"{text} is no law of the batch")
        at = term.end()
        if not term[2]:
            halves = (1 if term[3] else 2) * (-1 if term[1] == "/" else 1)
            factors.append((int(term[4] or 1), int(term[5] or 0), halves))
    return factors


def law_of(values, sizes):
    """The law through three numbers, ints or floats, at three sizes; None where there is none.

    Two of them leave a law open: its value, and one term a * N + b; the third proves it. Integers follow products of
    the second degree or more without divisors alone, so that what is rounded is not taken for a law; so do real numbers
    that are all integers, but for N and 1/N, and likewise numbers that are all 1 by an integer.
    """
    if any(value == 0 or not math.isfinite(value) for value in values):
        return None
    of_pairs = all(value == int(value) for value in values)

    parts = [Fraction(value) if isinstance(value, int) else _fraction_near(value) for value in values]
    reciprocals = not of_pairs and all(part is not None and abs(part.numerator) == 1 for part in parts)

    def gives(text):
        return ((not of_pairs or "/" not in text and text.count("N") > 1)
                and (not reciprocals or _is_reciprocal(text, parts[0], sizes[0])) and _gives(text, values, sizes))
    simple = [text for text in ("N", "1/N") if isinstance(values[0], float) and _gives(text, values, sizes)]
    closed = [*simple, *(text for text in (*_KNOWN, *_ROOTS) if gives(text))]
    if closed:
        return closed[0]
    if any(part is None for part in parts):
        return None
    for beside in ("", *_KNOWN):
        factors = parse(beside)
        if any(a * size + b <= 0 for a, b, _ in factors for size in sizes):
            continue
        rest = [part / _at(factors, size) for part, size in zip(parts, sizes)]
        for power in (1, -1, 2, -2):
            if abs(power) == 2 and beside:
                continue
            term = _term_through(rest, sizes, power)
            text = _text([*factors, (*term, 2 * power)]) if term else ""
            if text and gives(text):
                return text
    return None


def _is_reciprocal(text, part, size):
    """Whether a law of 1 by an integer has divisors alone: N and N - 1, or all of the integer, as N (2 N - 1) of 2 N
    (2 N - 1)."""
    factors = parse(text)
    if any(halves > 0 for *_, halves in factors):
        return False
    if all(a == 1 and b in (0, -1) for a, b, _ in factors):
        return True
    if any(halves % 2 for *_, halves in factors):
        return False
    scale = abs(_at(factors, size) / part)
    return scale == 1 or ((1, 0) in [(a, b) for a, b, _ in factors] and scale in [a for a, _, _ in factors])


def number_at(value, text, batch, to):
    """`value`, an int or float of batch `batch`, at batch `to`; None where the law gives none of its type."""
    factors = parse(text)
    if any(a * size + b <= 0 for a, b, _ in factors for size in (batch, to)):
        return None
    roots = any(halves % 2 for *_, halves in factors)
    if isinstance(value, int):
        scaled = value * _at(factors, to) / _at(factors, batch) if not roots else Fraction(1, 2)
        return int(scaled) if scaled.denominator == 1 else None
    exact = _root_at(value, factors, batch, to) if roots else _real_of(
        _fraction_of(value), _at(factors, to) / _at(factors, batch))
    if exact is not None:
        return exact
    for a, b, halves in factors:
        ratio = (a * to + b) / (a * batch + b)
        ratio = math.sqrt(ratio) if halves % 2 else ratio
        value = value * ratio if halves > 0 else value / ratio
    return value if math.isfinite(value) else None


def _real_of(part, ratio):
    """part * ratio, where its numerator and denominator are real numbers; else None."""
    if part is None:
        return None
    scaled = part * ratio
    fits = max(abs(scaled.numerator), scaled.denominator) <= LARGEST_REAL
    return scaled.numerator / scaled.denominator if fits else None


def _root_at(value, factors, batch, to):
    """Of a number that is the root of a fraction: its square is scaled. Else None."""
    square = _fraction_near(value * value)
    if square is None or math.sqrt(square.numerator / square.denominator) != abs(value):
        return None
    squared = [(a, b, 2 * halves) for a, b, halves in factors]
    scaled = _real_of(square, _at(squared, to) / _at(squared, batch))
    return None if scaled is None else math.copysign(math.sqrt(scaled), value)


def _gives(text, values, sizes):
    """Whether the law takes the first number to the others: integers exactly, others up to 2^-51 of the value."""
    for size, expected in zip(sizes[1:], values[1:]):
        found = number_at(values[0], text, sizes[0], size)
        if found is None or abs(found - expected) > (0 if isinstance(expected, int) else TOLERANCE * abs(expected)):
            return False
    return True


def _at(factors, size):
    """The product of rational factors, which are positive at that size."""
    return math.prod((Fraction(a * size + b) ** (halves // 2) for a, b, halves in factors), start=Fraction(1))


def _term_through(values, sizes, power):
    """(a, b) such that the values are proportional to (a * N + b) ** power at the first two sizes."""
    ratio = values[1] / values[0] if power > 0 else values[0] / values[1]
    if abs(power) == 2:
        roots = math.isqrt(max(0, ratio.numerator)), math.isqrt(ratio.denominator)
        if roots[0] ** 2 != ratio.numerator or roots[1] ** 2 != ratio.denominator:
            return None
        ratio = Fraction(*roots)
    if ratio == 1:
        return None
    offset = (sizes[1] - ratio * sizes[0]) / (ratio - 1)
    term = offset.denominator, offset.numerator
    fits = term[0] <= LARGEST_REAL and abs(term[1]) <= LARGEST_REAL
    return term if fits and all(term[0] * size + term[1] > 0 for size in sizes) else None


def _convergents(value):
    """(numerator, denominator) of the continued fraction of |value|, as long as they stand for a real number."""
    rest, (p, q), (next_p, next_q) = Fraction(abs(value)) if math.isfinite(value) else Fraction(), (0, 1), (1, 0)
    while rest:
        whole = rest.numerator // rest.denominator
        (p, q), (next_p, next_q) = (next_p, next_q), (whole * next_p + p, whole * next_q + q)
        if next_p * next_q >= LARGEST_PARTS:
            return
        if next_p > 0:
            yield next_p, next_q
        rest -= whole
        rest = 1 / rest if rest else rest


def _fraction_of(value):
    """The fraction of which `value` is the nearest real number; None where there is none of few digits."""
    for p, q in _convergents(value):
        if p / q == abs(value):
            return Fraction(p if value > 0 else -p, q)
    return None


def _fraction_near(value):
    """The same of a number that has been rounded twice."""
    for p, q in _convergents(value):
        if abs(p / q - abs(value)) <= TOLERANCE * abs(value):
            return Fraction(p if value > 0 else -p, q)
    return None


def _text(factors):
    """The one text of a product: equal terms together, N first, products before divisors."""
    powers: dict = {}
    for a, b, halves in factors:
        powers[b / a, a, b] = powers.get((b / a, a, b), 0) + halves
    order = sorted(powers, key=lambda term: (abs(term[0]), term))
    text = ""
    for sign in ("*", "/"):
        for _, a, b in order:
            halves = powers[_, a, b] * (1 if sign == "*" else -1)
            if halves <= 0:
                continue
            term = "N" if b == 0 else f"({a}*N{b:+})" if a != 1 else f"(N{b:+})"
            for part in [term] * (halves // 2) + ([f"sqrt({term.strip('()')})"] if halves % 2 else []):
                text += (sign if text else "" if sign == "*" else "1/") + part
    return text


# What stands beside a term that two numbers leave open: powers of N and N - 1 up to the second degree, the simplest
# first, and 1.
_KNOWN = ("N", "(N-1)", "1/(N-1)", "1/N", "N*N", "N*(N-1)", "(N-1)*(N-1)", "N/(N-1)", "1/(N-1)/(N-1)", "1/N/N",
          "(N-1)/N", "1/N/(N-1)")
_ROOTS = ("sqrt(N)", "sqrt(N-1)", "1/sqrt(N-1)", "1/sqrt(N)", "sqrt(N)*sqrt(N-1)", "sqrt(N)/sqrt(N-1)",
          "sqrt(N-1)/sqrt(N)", "1/sqrt(N)/sqrt(N-1)")
