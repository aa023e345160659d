"""A task without pictures: predict the next letter of a text, with a data set and a model for it.

The text is made here, word by word, by a small grammar: sixteen letters are a sample, and the one
that follows is its class. A recurrent network reads them. Both are found by their names:

    ./metronome run --plugin examples/next_letter.py --set task.dataset=sentences \\
        --set task.model=letter-gru --set task.learning_rate=0.5
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from learning.data.dataset import Dataset

if TYPE_CHECKING:
    from torch import nn

ALPHABET = " abcdefghijklmnopqrstuvwxyz."
LENGTH = 16  # letters that the model sees
TRAIN, TEST = 4_000, 1_000
_SUBJECTS = ("the cloud", "a client", "one edge", "the slow phone", "every server", "a far node")
_VERBS = ("sends", "waits for", "loses", "trains", "averages", "forgets")
_OBJECTS = ("the model", "its update", "a round", "old weights", "some bytes", "the last epoch")


def sentences(_data_dir: Path | None) -> Dataset:
    """Return windows of a text that is the same every time; `--data` is not needed."""
    rng = np.random.default_rng(2026)
    needed, text = TRAIN + TEST + LENGTH, ""
    while len(text) < needed:
        words = (rng.choice(part) for part in (_SUBJECTS, _VERBS, _OBJECTS))
        text += " ".join(words) + ". "
    letters = np.array([ALPHABET.index(letter) for letter in text[:needed]], np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(letters, LENGTH)[: TRAIN + TEST]
    following = letters[LENGTH:]
    return Dataset(
        train_inputs=windows[:TRAIN],  # integers that are not bytes: tokens, not pixels
        train_labels=following[:TRAIN],
        test_inputs=windows[TRAIN:],
        test_labels=following[TRAIN : TRAIN + TEST],
        classes=len(ALPHABET),
    )


def letter_gru(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Return a model that reads `shape` letters and gives a score to each that may follow."""
    import torch  # here, so that commands that train nothing do not wait for it
    from torch import Tensor, nn

    class LetterGRU(nn.Module):
        """An embedding, a recurrent layer, and a linear one on its last output."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(classes, 8)
            self.gru = nn.GRU(8, 32, batch_first=True)
            self.scores = nn.Linear(32, classes)

        def forward(self, letters: Tensor) -> Tensor:
            outputs, _ = self.gru(self.embedding(letters))
            scores: Tensor = self.scores(torch.relu(outputs[:, -1]))
            return scores

    return LetterGRU()


DATASETS = {"sentences": sentences}
MODELS = {"letter-gru": letter_gru}
