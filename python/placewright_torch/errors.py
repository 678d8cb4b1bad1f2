"""What can go wrong, said with place and remedy."""

import os
import traceback


class ExportError(RuntimeError):
    """The step cannot be exported; the text names the reason, the place and a remedy."""


class UsageError(ExportError):
    """The command line cannot be understood."""


class MissingTorchError(ExportError, ImportError):
    """There is no PyTorch that this Python could import, or one that is too old."""


def user_line(error):
    """"FILE:LINE in FUNCTION" of the innermost frame that belongs neither to Python, nor to PyTorch,
    nor to this package; "" if there is none."""
    own = os.path.dirname(os.path.abspath(__file__)) + os.sep
    front_door = os.path.dirname(os.path.dirname(own)) + os.sep + "placewright_export.py"
    torch_part = os.sep + "torch" + os.sep
    python = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
    packages = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
    place = ""
    while error is not None:
        for frame in traceback.extract_tb(error.__traceback__):
            name = os.path.abspath(frame.filename)
            if torch_part in name or name.startswith(own) or name == front_door:
                continue
            if name.startswith(python) and not any(part in name for part in packages):
                continue
            if not os.path.exists(name):  # "<string>", an extension's own frames
                continue
            place = f"{frame.filename}:{frame.lineno} in {frame.name}"
        if place:
            return place
        error = error.__cause__ or error.__context__
    return place


def at(error):
    """" (at FILE:LINE in FUNCTION)", or nothing where that is unknown."""
    place = user_line(error)
    return f" (at {place})" if place else ""
