"""The state of a training in pieces: cut from the user's tensors, and put together again.

Pieces are copies; they share no memory with the user's model or optimizer.
"""

import torch

from .checkpoints import Chunks, chunks_of
from .errors import ApplyError
from .tensors import DTYPES, elements, piece_of, put

DRAWS_STEP = "buffer:placewright.step"  # how many steps have drawn random numbers


class Pieces:
    def __init__(self, step, ordered, groups):
        self._step, self._ordered, self._groups = step, ordered, groups
        self.own = {}  # (name of an input, device of the plan) -> this rank's piece
        self._check_written()

    def load(self, wanted, whole_of):
        """Copies of this rank's pieces, (name of an input, device of the plan) each; `whole_of`
        gives a tensor by its recorded name."""
        for name, device in wanted:
            one = self._step.inputs[name]
            piece = piece_of(whole_of(one.of), one.box)
            self.own[name, device] = piece.to(self._groups.places.own[device])
            if list(piece.shape) != one.shape or piece.dtype != DTYPES[one.dtype]:
                raise ApplyError("plan-invalid", f"its piece is {list(piece.shape)} of "
                                 f"{piece.dtype}, the plan's {one.shape} of {one.dtype}", name)
        return [self.own[key] for key in wanted]

    def _check_written(self):
        """A tensor that lies in several places is written in all of them, or a copy grows old."""
        places: dict = {}
        for name, one in self._step.inputs.items():
            if one.kind != "input" and self._ordered.held[name]:
                places.setdefault(one.of, []).append(name)
        for names in places.values():
            written = [name in self._ordered.written for name in names]
            if any(written) and not all(written):
                raise ApplyError("plan-invalid", "one piece of it is updated, another is not",
                                 f"{names[written.index(False)]}")

    def held(self):
        """Recorded names of tensors that lie on some rank."""
        return list(dict.fromkeys(one.of for name, one in self._step.inputs.items()
                                  if one.kind != "input" and self._ordered.held[name]))

    def gather(self, of, shape, dtype, device, own=None):
        """The whole of a recorded tensor, on every rank; all ranks must ask for it. `own`: what
        lies in the place of its pieces, (name of an input, device of the plan) -> tensor."""
        own = self.own if own is None else own
        whole = torch.empty(shape, dtype=dtype, device=device)
        for name, holder in self.parts(of):
            one = self._step.inputs[name]
            piece = own.get((name, holder))
            if piece is None:
                piece = torch.empty(one.shape, dtype=dtype, device=device)
            put(whole, one.box, self._groups.broadcast(piece, holder))
        return whole

    def parts(self, of):
        """Pieces that make up a recorded tensor: (name of the input, device that has it)."""
        pieces: dict = {}
        for name, one in self._step.inputs.items():
            if one.of == of and self._ordered.held[name]:
                key = tuple(sorted(tuple(sorted(axis.items())) for axis in one.box))
                pieces.setdefault(key, (name, self._ordered.held[name][0]))
        parts = [pieces[()]] if () in pieces else list(pieces.values())
        found = sum(elements(self._step.inputs[name].shape) for name, _ in parts)
        if found < elements(self._step.recorded[of]["shape"]):
            raise ApplyError("plan-invalid", "its pieces do not make a whole", of)
        return parts

    def to_save(self, of, own=None):
        """Chunks of a recorded tensor, of those that make it up; `own`: as for gather."""
        own = self.own if own is None else own
        return self._chunks(of, {key: own[key] for key in self.parts(of) if key in own})

    def to_load(self, of, own=None):
        """Chunks of all that this rank has of a recorded tensor."""
        own = self.own if own is None else own
        return self._chunks(of, {key: piece for key, piece in own.items()
                                 if self._step.inputs[key[0]].of == of})

    def _chunks(self, of, own):
        shape = self._step.recorded[of]["shape"]
        return Chunks(shape, [chunk for (name, _), piece in own.items() for chunk in chunks_of(
            shape, self._step.inputs[name].box, piece)])

    def fill(self, of, value):
        """All that this rank has of a recorded tensor."""
        for (name, _), piece in self.own.items():
            if self._step.inputs[name].of == of:
                piece.fill_(value)
