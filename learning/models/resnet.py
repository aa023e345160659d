"""ResNets for small images: He et al. 2016 with the CIFAR stem (3x3, stride 1, no pooling).

Parameter names and initialisation are torchvision's, without the cost of importing torchvision in
every worker.
"""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn


class BasicBlock(nn.Module):
    """Two 3x3 convolutions."""

    widening = 1  # output channels divided by the block's width

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = _shortcut(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output added to its input."""
        shortcut = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)) + shortcut)


class Bottleneck(nn.Module):
    """A 3x3 convolution between two of 1x1, the second four times as wide."""

    widening = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.widening
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = _shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output added to its input."""
        shortcut = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return F.relu(self.bn3(self.conv3(x)) + shortcut)


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Module | None:
    """Return a 1x1 convolution if the block changes the shape, else None."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """Four stages of blocks; each stage after the first halves the image."""

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        depths: Sequence[int],
        channels: int,
        classes: int,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        stages = []
        for width, stride, depth in zip((64, 128, 256, 512), (1, 2, 2, 2), depths, strict=True):
            blocks = []
            for place in range(depth):
                blocks.append(block(inputs, width, stride if place == 0 else 1))
                inputs = width * block.widening
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = nn.Linear(inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Return the class scores for a batch of images."""
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        scores: Tensor = self.fc(x.mean((2, 3)))
        return scores


class ResNet18(ResNet):
    """11,173,962 parameters with 3 channels and 10 classes."""

    def __init__(self, channels: int, _size: int, classes: int) -> None:
        super().__init__(BasicBlock, (2, 2, 2, 2), channels, classes)


class ResNet50(ResNet):
    """23,705,252 parameters with 3 channels and 100 classes."""

    def __init__(self, channels: int, _size: int, classes: int) -> None:
        super().__init__(Bottleneck, (3, 4, 6, 3), channels, classes)
