"""What can go wrong, said with place and remedy."""

import os
import traceback


class ExportError(RuntimeError):
    """The step cannot be exported; the text names the reason, the place and a remedy."""


class UsageError(ExportError):
    """The command line cannot be understood."""


class ConfigurationError(ExportError):
    """A configuration of transformers that no step can be built of, with what helps."""


class MissingTorchError(ExportError, ImportError):
    """There is no PyTorch that this Python could import, or one that is too old."""


_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_FRONT_DOOR = os.path.dirname(os.path.dirname(_OWN)) + os.sep + "placewright_export.py"
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


def is_users_file(file):
    """Whether a file belongs neither to Python, nor to PyTorch, nor to this package."""
    name = os.path.abspath(file)
    if os.sep + "torch" + os.sep in name or name.startswith(_OWN) or name == _FRONT_DOOR:
        return False
    if name.startswith(_PYTHON) and not any(part in name for part in _PACKAGES):
        return False
    return os.path.exists(name)  # not "<string>", nor an extension's own frames


def user_line(error):
    """"FILE:LINE in FUNCTION" of the innermost frame that belongs neither to Python, nor to PyTorch,
    nor to this package; "" if there is none."""
    place = ""
    while error is not None:
        for frame in traceback.extract_tb(error.__traceback__):
            if is_users_file(frame.filename):
                place = f"{frame.filename}:{frame.lineno} in {frame.name}"
        if place:
            return place
        error = error.__cause__ or error.__context__
    return place


def at(error):
    """" (at FILE:LINE in FUNCTION)", or nothing where that is unknown."""
    place = user_line(error)
    return f" (at {place})" if place else ""
