"""Numbers of the update that change between steps: formulas of docs/formats/aten-graph.md."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import ApplyError

NAMED = re.compile(r"\{([^{}]*)\}")
COUNTER = re.compile(r"step(\.\d+)?$")
HYPER = re.compile(r"(\d+)\.(.+)$")
ALLOWED = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Constant, ast.Name, ast.Load,
           ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub)
FUNCTIONS = {"sqrt": math.sqrt, "abs": abs}


def names_in(formula: str) -> list[str]:
    return NAMED.findall(formula)


class Formula:
    """A number as Python computes it from named ones, in double precision."""

    def __init__(self, text: str) -> None:
        self.names = list(dict.fromkeys(names_in(text)))
        places = {name: f"x{i}" for i, name in enumerate(self.names)}
        plain = NAMED.sub(lambda found: places[found.group(1)], text)
        known = {*places.values(), *FUNCTIONS}
        tree: ast.Expression | None
        try:
            tree = ast.parse(plain, mode="eval")
        except SyntaxError:
            tree = None
        if tree is None or not all(_is_arithmetic(node, known) for node in ast.walk(tree)):
            raise ApplyError("field", "it is no arithmetic of numbers", f"formula {text!r}")
        self._code = compile(tree, "<formula>", "eval")
        self._places = places

    def __call__(self, values: Mapping[str, Any]) -> Any:
        own = {place: values[name] for name, place in self._places.items()}
        return eval(self._code, {"__builtins__": {}, **FUNCTIONS}, own)


def _is_arithmetic(node: ast.AST, known: set[str]) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.Name):
        return node.id in known
    return isinstance(node, ALLOWED)


class Numbers:
    """The values of a step's formulas, from the user's optimizer as it stands when the step
    begins."""

    def __init__(self, formulas: Iterable[str], optimizer: Any, steps_before: int) -> None:
        """`steps_before`: how many steps the optimizer's state has behind it."""
        self._formulas = [Formula(text) for text in formulas]
        self._optimizer, self.steps = optimizer, steps_before
        self._names = list(dict.fromkeys(n for f in self._formulas for n in f.names))
        unknown = [name for name in self._names if self._value_of(name) is None]
        if unknown:
            raise ApplyError(
                "number-unknown", f"the update follows {', '.join(unknown)}, which is no number of "
                "the optimizer's groups and no count of steps", str(type(optimizer).__name__),
                "Its values after the recorded step are not known: use an optimizer whose numbers "
                "stand in its param_groups.")

    def values(self) -> tuple[Any, ...]:
        """Those of the step that comes next."""
        named = {name: self._value_of(name) for name in self._names}
        return tuple(formula(named) for formula in self._formulas)

    def _value_of(self, name: str) -> float | None:
        if COUNTER.match(name):
            return float(self.steps + 1)
        found = HYPER.match(name)
        if found is None or int(found.group(1)) >= len(self._optimizer.param_groups):
            return None
        value = self._optimizer.param_groups[int(found.group(1))]
        for key in found.group(2).split("."):
            try:
                value = value[int(key)] if isinstance(value, (list, tuple)) else value[key]
            except (KeyError, IndexError, ValueError, TypeError):
                return None
        return float(value)
