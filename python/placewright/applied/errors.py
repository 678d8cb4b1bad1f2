"""What apply refuses, with a code, the place and a remedy."""

from ..errors import PlacewrightError


class ApplyError(PlacewrightError, RuntimeError):
    """A plan that cannot run here. `place`: a file, a parameter, an operator."""

    exit_status = 3

    def __init__(self, code: str, message: str, place: str = "", remedy: str = "", *,
                 file: str = "") -> None:
        super().__init__(code, message, file=file, place=place, remedy=remedy)
