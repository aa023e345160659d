"""The error for a user's mistakes: the command line prints its sentence and exits with code 2."""


class BadInput(Exception):
    """One sentence that names the place, what is wrong there, and the remedy."""

    def __init__(self, sentence: str) -> None:
        super().__init__(" ".join(sentence.splitlines()))  # what a user wrote may have line ends
