"""The two CNNs of the server-learning papers (FSL, appendix B-A; FSL-short, section III)."""

import torch.nn.functional as F
from torch import Tensor, nn


class FslEmnistCNN(nn.Module):
    """1,409,197 parameters for 1x28x28 images and 45 classes."""

    def __init__(self, channels: int, size: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3)
        side = (size - 2) // 2  # the second convolution removes a pixel at each edge
        self.fc1 = nn.Linear(64 * side * side, 128)
        self.fc2 = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the class scores for a batch of images."""
        # Pooling before ReLU gives the same values as after it, with a quarter of the work.
        x = F.relu(self.conv1(x))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        x = F.dropout(x, 0.25, self.training)
        x = F.relu(self.fc1(x.flatten(1)))
        scores: Tensor = self.fc2(F.dropout(x, 0.5, self.training))
        return scores


class FslCifarCNN(nn.Module):
    """545,098 parameters for 3x32x32 images and 10 classes."""

    def __init__(self, channels: int, size: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        side = size // 2 // 2  # each pooling halves the image
        self.fc1 = nn.Linear(64 * side * side, 128)
        self.fc2 = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the class scores for a batch of images."""
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        x = F.dropout(x, 0.25, self.training)
        x = F.relu(self.fc1(x.flatten(1)))
        scores: Tensor = self.fc2(F.dropout(x, 0.5, self.training))
        return scores
