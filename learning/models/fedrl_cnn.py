"""The CNN of the FedRL paper for 28x28 images: two convolutions, two poolings, two linear layers.

The paper does not give widths. These are from the network that it takes from MOON for CIFAR-10,
which is LeNet-5 (6 and 16 channels, 5x5; 120 units), without its third linear layer: 34,622
parameters.
"""

import torch.nn.functional as F
from torch import Tensor, nn


class FedRLCNN(nn.Module):
    """Two convolutions, each with pooling, and two linear layers."""

    def __init__(self, channels: int, size: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        side = ((size - 4) // 2 - 4) // 2  # a convolution removes 4 pixels, pooling halves
        self.fc1 = nn.Linear(16 * side * side, 120)
        self.fc2 = nn.Linear(120, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the class scores for a batch of images."""
        # Pooling before ReLU gives the same values as after it, with a quarter of the work.
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        x = F.relu(self.fc1(x.flatten(1)))
        scores: Tensor = self.fc2(x)
        return scores
