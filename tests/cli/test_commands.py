"""The words of `sweep` and `compare`, through the command line itself."""

from pathlib import Path

import pytest

from cli import commands
from contracts.errors import BadInput


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["compare"], "the following arguments are required: RUN"),
        (["compare", "/nowhere"], "/nowhere"),
        (["sweep", "nothing-like-that"], "nothing-like-that"),
        (["sweep", "tempo-mnist-iid", "--seeds", "one"], "--seeds one: not numbers"),
        (["sweep", "tempo-mnist-iid", "--size", "huge"], "--size huge"),
        (["sweep", "tempo-mnist-iid", "--data", "/nowhere"], "--data /nowhere: no such directory"),
        (["run", "tempo-mnist-iid", "--variant", "fedadp-5"], 'did you mean "fedadp-'),
    ],
)
def test_bad_words_are_refused_in_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(BadInput) as caught:
        commands.main(words)

    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [], "nothing was begun"
