"""What helps when a function that builds a step, or the module it stands in, fails."""

import os
import sys

from .errors import ExportError

# Texts of errors that come from tensors without content.
WITHOUT_CONTENT = (
    "not allocated", "invalid python storage", "meta tensor", "Meta tensor", "FakeTensor",
    "fake tensor", "data pointer", "DataDependent", "for tensor subclasses", "can't convert meta",
    "Cannot copy out of meta tensor", "Cannot access data pointer")
OF_A_LAUNCHER = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
OF_THE_HUB = ("OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectionError", "ConnectError",
              "MaxRetryError", "HTTPError", "GatedRepoError", "RepositoryNotFoundError")


def _chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def remedy(error, real_weights=False):
    """"; do this", or "" where nothing is known that helps."""
    for one in _chain(error):
        found = _of(one, real_weights)
        if found:
            return "; " + found
    return ""


def _of(error, real_weights):
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.split(".")[0]
        return f"install it for this Python: {sys.executable} -m pip install {package}"
    if isinstance(error, (AttributeError, ImportError, TypeError, ValueError)) and _is_of_newer_torch(error):
        import torch
        return (f"this is PyTorch {torch.__version__} of {sys.executable}, where it does not work: "
                "record with the Python of a newer PyTorch")
    if isinstance(error, KeyError) and error.args and error.args[0] in OF_A_LAUNCHER:
        missing = [f"{name}={value}" for name, value in OF_A_LAUNCHER.items()
                   if name not in os.environ]
        return (f"torchrun sets {error.args[0]}; the step is recorded as that of one process: put "
                f"{' '.join(missing)} in front of the command")
    if any(type(error).__name__ == name for name in OF_THE_HUB):
        return ("build the model from a configuration instead, which fetches nothing "
                "(AutoModel.from_config(config)), or name a folder that is there")
    if not real_weights and (isinstance(error, ExportError) or
                             any(text in str(error) for text in WITHOUT_CONTENT)):
        return "if it needs values of tensors, add --real-weights"
    return ""


def _is_of_newer_torch(error):
    text = str(error)
    if isinstance(error, ValueError):  # 1.13's FSDP on Python 3.11
        return "mutable default <class 'torch." in text
    if isinstance(error, AttributeError):
        return text.startswith("module 'torch") or "object has no attribute 'register_step_" in text
    if isinstance(error, TypeError):
        return "does not support the context manager protocol" in text and "torch.device" in text
    return (error.name or "").split(".")[0] == "torch"
