"""What apply refuses, with a code, the place and a remedy."""


class ApplyError(RuntimeError):
    """A plan that cannot run here. `code` names the kind of error, `place` what is meant (a file, a
    parameter, an operator), `remedy` what can be done."""

    def __init__(self, code, message, place="", remedy=""):
        self.code, self.place, self.remedy = code, place, remedy
        text = f"{place}: {message}" if place else message
        super().__init__(f"{text} [{code}]" + (f"\n  {remedy}" if remedy else ""))

    def __reduce__(self):
        return _made_again, (str(self), self.code, self.place, self.remedy)


def _made_again(text, code, place, remedy):
    error = ApplyError.__new__(ApplyError, text)
    error.code, error.place, error.remedy = code, place, remedy
    error.args = (text,)
    return error
