"""What answers a step that asks a tensor for its values.

A step is recorded without data. Where the program asks all the same, the answer is, in this order:

    the number, if every element is known (known.py) from constants of the program;
    what the user says of the place (`--assume FILE:LINE=ANSWER`);
    the number, if it is known from data being finite, or is one random draw;
    that which passes, if the branch for the other does nothing but raise an error or warn
    (conditions.py);
    0, if an index is read, which decides no size;
    1, if an optimizer asks, which scales its update by a norm (Adafactor);

else there is none, and the step is refused. Sizes that depend on values (nonzero, masks as indices)
are as the user says, as a number or as a share of the mask's elements: the capacity of an expert.
What was assumed is kept as a note, a sentence for each place.
"""

import os
import sys

import torch

from . import conditions
from .errors import ExportError, is_users_file

SHARE = "%"


class Assumed:
    """What the user says: a dict of places, "FILE:LINE" or "FILE:FUNCTION", and answers."""

    def __init__(self, given=None):
        self._given = [(*self._place(place), self._answer(place, answer), place)
                       for place, answer in (given or {}).items()]
        self.used = set()

    @staticmethod
    def _place(place):
        file, colon, where = str(place).rpartition(":")
        if not colon or not file or not where:
            raise ExportError(f"assume: \"{place}\" is no place; write FILE:LINE or FILE:FUNCTION, "
                              "as in train.py:12")
        return file.replace(os.sep, "/"), where

    @staticmethod
    def _answer(place, answer):
        """A bool, a number, or a share as ("%", number)."""
        if isinstance(answer, str):
            text = answer.strip().lower()
            if text in ("true", "false"):
                return text == "true"
            try:
                if text.endswith(SHARE):
                    share = float(text[:-1]) / 100
                    if 0 <= share <= 1:
                        return (SHARE, share)
                else:
                    return float(text) if any(c in text for c in ".einf") else int(text)
            except ValueError:
                pass
        elif isinstance(answer, (bool, int, float)):
            return answer
        raise ExportError(f"assume: the answer {answer!r} for \"{place}\" is none of true, false, a "
                          "number, or a share of a mask's elements up to 100%, as in 12.5%")

    def at(self, frame):
        """The answer for the place where a frame is, or None."""
        path = frame.f_code.co_filename.replace(os.sep, "/")
        lines = conditions.lines_of(frame)
        for file, where, answer, place in self._given:
            here = where == frame.f_code.co_name or where.isdigit() and int(where) in lines
            if here and (path == file or path.endswith("/" + file)):
                self.used.add(place)
                return answer
        return None

    def unused(self):
        """Notes of places that no question came from: mistyped, or an older version's lines."""
        return [f"nothing in the step asks for a value at {place}, for which an answer is given"
                for *_, place in self._given if place not in self.used]


class Checks:
    """Answers the questions of one recording."""

    def __init__(self, assumed):
        self._assumed = assumed
        self._notes = {}  # text -> how often
        self.quiet = False  # while what runs is not part of the step

    def answer(self, name, tensor, known, updating):
        """What reading `tensor` gives: a bool, int or float; None if nothing says it. `known` is
        the Known of its elements or None; `updating`: the optimizer runs."""
        frames = list(_frames())
        if known is not None and not known.assumed:
            return _typed(known.number, tensor)
        for frame in frames:
            given = self._assumed.at(frame)
            if given is not None and not isinstance(given, tuple):
                self.note(f"{place_of(frame)}: {_shown(given)}, as given")
                answer = conditions.answer_for(frame, given) if isinstance(given, bool) else given
                return _typed(answer if answer is not None else given, tensor)
        if known is not None:
            self.note(f"{place_of(frames[0]) if frames else 'the step'}: {known.assumed}")
            return _typed(known.number, tensor)
        passing = self._passing(frames)
        if passing is not None:
            answer, frame, what = passing
            if frames and not is_users_file(frame.f_code.co_filename):
                frame = frames[0]  # which called the check of PyTorch's own
            self.note(f"{place_of(frame)}: the check \"{what}\" is taken to pass")
            return _typed(answer, tensor)
        if frames and conditions.is_index(frames[0]):
            self.note(f"{place_of(frames[0])}: an index that is read from a tensor is taken to be 0")
            return _typed(0, tensor)
        if updating:
            self.note(f"{place_of(frames[0]) if frames else 'the optimizer'}: a number that the "
                       "update reads from a tensor is taken to be 1")
            return _typed(1, tensor)
        return None

    @staticmethod
    def _passing(frames):
        """That of a check in PyTorch's own code, or in the code that called PyTorch."""
        frame = sys._getframe(2)
        while frame is not None and not (frames and frame is frames[0]):
            inside = os.sep + "torch" + os.sep in frame.f_code.co_filename
            passing = conditions.passing_answer([frame]) if inside else None
            if passing is not None:
                return passing
            frame = frame.f_back
        return conditions.passing_answer(frames)

    def count(self, elements, known):
        """How many of a mask's elements are taken to be true; None if nothing says it. `known` is
        the Known of them or None."""
        for frame in _frames():
            given = self._assumed.at(frame)
            if given is None or isinstance(given, bool):
                continue
            count = given
            if isinstance(given, tuple):
                count = -int(-given[1] * elements // 1)  # rounded up
            self.note(f"{place_of(frame)}: {_shown(given)} of the elements, as given")
            return int(count)
        if known is None:
            return None
        if known.assumed:
            self.note(f"{where_asked() or 'the step'}: {known.assumed}")
        return elements if known.number else 0

    def note(self, text):
        """Keeps that something was assumed."""
        if not self.quiet:
            self._notes[text] = self._notes.get(text, 0) + 1

    def notes(self):
        """A sentence for each assumption."""
        return [text if count == 1 else f"{text} ({count} times)"
                for text, count in self._notes.items()]


def _frames():
    """The frames of users' and libraries' code, the innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_users_file(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def place_of(frame):
    """"models/llama/modeling_llama.py:12", with the folders that distinguish libraries."""
    path = frame.f_code.co_filename.replace(os.sep, "/")
    for packages in ("/site-packages/", "/dist-packages/"):
        if packages in path:
            path = path.rpartition(packages)[2]
            return f"{path}:{frame.f_lineno}"
    return f"{path.rpartition('/')[2]}:{frame.f_lineno}"


def where_asked():
    """The innermost place of users' or libraries' code, or None."""
    frame = next(_frames(), None)
    return place_of(frame) if frame else None


def _shown(answer):
    if isinstance(answer, tuple):
        return f"{answer[1] * 100:g}%"
    return str(answer).lower()


def _typed(answer, tensor):
    if not isinstance(tensor, torch.Tensor):
        return answer
    if tensor.dtype == torch.bool:
        return bool(answer)
    if tensor.is_floating_point():
        return float(answer)
    if answer == float("inf") or answer == -float("inf"):
        return 2**62 if answer > 0 else -2**62
    return int(answer)
