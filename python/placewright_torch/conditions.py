"""Which answer of a tensor makes a condition in a program true or false, by the program's text.

`passing_answer` finds the condition that a value decides: of an `if` whose branch does nothing but
raise or warn, of an `assert`, of torch._check; through `not`, `and`, `or`, comparisons with numbers
and functions that return it. Python 3.11 and newer know the very expression that runs; older ones
its line, and there a line with one condition is enough.
"""

import ast
import dis
import functools
import linecache
import re

CHECKING = ("_check", "_assert", "_check_value", "_check_index", "_check_type", "_check_with",
            "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with")
WARNING = ("warn", "warning", "warning_once", "warning_advice", "print", "info", "debug", "error")
CONVERSIONS = ("bool", "int", "float")
LARGE = float("inf")
ASKS_TRUTH = re.compile("POP_JUMP_|JUMP_IF_|TO_BOOL|UNARY_NOT")
NO_INSTRUCTIONS = ("CACHE", "COPY", "NOP", "EXTENDED_ARG", "NOT_TAKEN")


@functools.lru_cache(maxsize=64)
def _tree(file):
    """The text of a file as a tree whose nodes know their `parent`; None if there is no text."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node
    return tree


def _position(frame):
    """(line, end line, column, end column) of the expression whose value was asked for, or None. An
    instruction that asks for the bool of what the one before it computed stands, in some versions,
    where the whole statement does."""
    code = frame.f_code
    if not hasattr(code, "co_positions"):
        return None
    at = frame.f_lasti
    if ASKS_TRUTH.match(dis.opname[code.co_code[at]]):
        at -= 2
        while at > 0 and dis.opname[code.co_code[at]] in NO_INSTRUCTIONS:
            at -= 2
    position = list(code.co_positions())[at // 2]
    return position if None not in position else None


def _expression(frame):
    """The expression that runs in a frame, whose value is what was asked for; or None."""
    tree = _tree(frame.f_code.co_filename)
    if tree is None:
        return None
    position = _position(frame)
    if position is None:
        conditions = [node.test for node in ast.walk(tree)
                      if isinstance(node, (ast.If, ast.Assert)) and
                      node.test.lineno <= frame.f_lineno <= node.test.end_lineno]
        return conditions[0] if len(conditions) == 1 else None
    return next((node for node in ast.walk(tree) if isinstance(node, ast.expr) and position == (
        node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)), None)


def lines_of(frame):
    """The lines of the expression that runs, and that of its statement."""
    position = _position(frame)
    expression = range(position[0], position[1] + 1) if position else ()
    return {frame.f_lineno, *expression}


class _Way:
    """From an expression up to the condition that it decides."""

    def __init__(self, node, frames):
        self.steps = []  # from the inside: "not", or (comparison, other side, is on the left)
        self.frame = frames[0]
        self.statement, self.test = None, None
        self._climb(node, frames)

    def _climb(self, node, frames):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn):
            self.steps.append("not")  # what runs is "in"
        while True:
            parent = getattr(node, "parent", None)
            if isinstance(parent, (ast.If, ast.Assert)) and node is parent.test:
                self.statement, self.test = parent, node
                return
            if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
                self.steps.append("not")
            elif isinstance(parent, ast.Compare) and len(parent.ops) == 1:
                left = node is parent.left
                other = parent.comparators[0] if left else parent.left
                self.steps.append((parent.ops[0], other, left))
            elif isinstance(parent, ast.Call) and node in parent.args and _name(parent) in CHECKING:
                self.statement, self.test = parent, node
                return
            elif isinstance(parent, ast.Call) and _name(parent) in CONVERSIONS:
                pass
            elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
                parent = _next_use(parent)
                if parent is None:
                    return
            elif isinstance(parent, ast.Return) and len(frames) > 1:
                frames = frames[1:]
                self.frame = frames[0]
                parent = _expression(frames[0])
                if not isinstance(parent, ast.Call):
                    return
            elif not isinstance(parent, (ast.BoolOp, ast.NamedExpr)):
                return
            node = parent

    def answer(self, wanted):
        """What the value must be for the condition to be `wanted`, or None."""
        for step in reversed(self.steps):
            if step == "not":
                wanted = not wanted
                continue
            comparison, other, left = step
            return _compared(comparison, _constant(other, self.frame), left, wanted)
        return wanted


def _name(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _next_use(assign):
    """Where the statement behind `name = value` uses the name in a condition."""
    if not isinstance(assign.targets[0], ast.Name):
        return None
    for field in ("body", "orelse", "finalbody"):
        siblings = getattr(assign.parent, field, None)
        if isinstance(siblings, list) and assign in siblings[:-1]:
            after = siblings[siblings.index(assign) + 1]
            if isinstance(after, (ast.If, ast.Assert)):
                return next((node for node in ast.walk(after.test) if isinstance(node, ast.Name)
                             and node.id == assign.targets[0].id), None)
    return None


def _constant(node, frame):
    """The number that an expression of names and constants has, or None."""
    try:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -_constant(node.operand, frame)
        if isinstance(node, ast.Constant):
            value = node.value
        elif isinstance(node, ast.Name):
            value = {**frame.f_globals, **frame.f_locals}[node.id]
        elif isinstance(node, ast.Attribute):
            value = getattr({**frame.f_globals, **frame.f_locals}[node.value.id], node.attr)
        else:
            return None
    except (AttributeError, KeyError, TypeError):
        return None
    return value if isinstance(value, (bool, int, float)) else None


def _compared(comparison, other, left, wanted):
    """A value for which `value COMPARISON other` (other first unless `left`) is `wanted`."""
    kind = type(comparison)
    if kind in (ast.Eq, ast.NotEq, ast.Is, ast.IsNot):
        if other is None:
            return None
        equal = wanted == (kind in (ast.Eq, ast.Is))
        return other if equal else not other if isinstance(other, bool) else other + 1
    if kind in (ast.Gt, ast.GtE, ast.Lt, ast.LtE):
        larger = (kind in (ast.Gt, ast.GtE)) == left
        return LARGE if larger == wanted else -LARGE
    return None


def _only_complains(statements):
    """Whether statements do nothing but raise an error or warn."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.Raise) or isinstance(last, ast.Assert) and _is_false(last.test):
        return True
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        call = last.value
        if _name(call) in CHECKING and call.args and _is_false(call.args[0]):
            return True
        return all(isinstance(s, ast.Expr) and isinstance(s.value, (ast.Call, ast.Constant)) and (
            isinstance(s.value, ast.Constant) or _name(s.value) in WARNING) for s in statements)
    if isinstance(last, ast.If):
        return _only_complains(last.body) and _only_complains(last.orelse)
    return False


def _is_false(node):
    return isinstance(node, ast.Constant) and node.value is False


def passing_answer(frames):
    """(the answer, the frame of the condition, its text) for the innermost of `frames`, where one of
    the two branches only complains; None where no branch does."""
    node = _expression(frames[0]) if frames else None
    if node is None:
        return None
    way = _Way(node, frames)
    wanted = None
    if isinstance(way.statement, (ast.Assert, ast.Call)):
        wanted = True
    elif isinstance(way.statement, ast.If):
        if _only_complains(way.statement.body):
            wanted = False
        elif _only_complains(way.statement.orelse):
            wanted = True
    answer = None if wanted is None else way.answer(wanted)
    if answer is None:
        return None
    return answer, way.frame, ast.unparse(way.test)[:80]


def is_index(frame):
    """Whether the value selects one of several: of a list, or along a dimension of a tensor."""
    return isinstance(_expression(frame), ast.Subscript)


def answer_for(frame, holds):
    """What must be answered for the condition that runs in `frame` to hold or not; None where the
    answer decides no condition there."""
    node = _expression(frame)
    if node is None:
        return None
    way = _Way(node, [frame])
    return way.answer(holds) if way.statement is not None else None
