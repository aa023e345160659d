"""The CNN of the multi-cell paper: 2,155,977 parameters for 3x32x32 images and 9 classes.

Its convolutions are wide enough for oneDNN to be the faster kernel even with batches of 10.
"""

import torch.nn.functional as F
from torch import Tensor, nn


class MulticellCNN(nn.Module):
    """Two wide convolutions, each with pooling, and two linear layers."""

    def __init__(self, channels: int, size: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        side = size // 2 // 2  # each pooling halves the image
        self.fc1 = nn.Linear(64 * side * side, 512)
        self.fc2 = nn.Linear(512, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the class scores for a batch of images."""
        # Pooling before ReLU gives the same values as after it, with a quarter of the work.
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        x = F.relu(self.fc1(x.flatten(1)))
        scores: Tensor = self.fc2(x)
        return scores
