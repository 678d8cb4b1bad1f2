"""What a user may choose about a recording, beside the step itself."""

import dataclasses


@dataclasses.dataclass
class Choices:
    """attention    "fused" or "math", see attention.py
    """
    attention: str = "fused"
