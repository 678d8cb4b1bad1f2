"""What a user may choose about a recording, beside the step itself."""

import dataclasses


@dataclasses.dataclass
class Choices:
    """attention    "fused" or "math", see attention.py
    assume       {place: answer} for what the step asks of values, see checks.py
    progress     a progress.Progress, or None
    frozen_weights  one of stored.FORMATS, or None, see stored.py
    """
    attention: str = "fused"
    assume: dict = None
    progress: object = None
    frozen_weights: str = None
