"""The synthetic characters of FSLsyn: EMNIST's classes written in a cursive font (FSL, footnote 6).

Each character is drawn in the middle of a figure of 2 x 2 inches at 72 pixels per inch, in three
sizes and five rotations, and the figure is then scaled to 28 x 28 pixels: 15 images per class,
white on black. The paper does not name its font; this one is URW's Zapf Chancery.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from contracts.errors import BadInput

FONT = Path("/usr/share/fonts/opentype/urw-base35/Z003-MediumItalic.otf")
_PACKAGE = "fonts-urw-base35"

# The classes of EMNIST's balanced split in order. Small letters that look like their capitals
# share the capitals' class.
CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt"
SIZES = (100, 110, 120)  # in points, 72 per inch
ROTATIONS = (-20, -10, 0, 10, 20)  # in degrees
MOST = len(SIZES) * len(ROTATIONS)

_FIGURE = 2 * 72
_SIDE = 28


def draw(classes: int, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw `per_class` images of each of the first classes, ordered by size, then by rotation."""
    if per_class > MOST:
        raise BadInput(
            f"server_data.per_class: {per_class}, and there are {MOST} letters a class; ask for"
            f" at most {MOST}"
        )
    if not FONT.is_file():
        raise BadInput(
            f"server_data.source: the letters' font {FONT} is missing; install Debian's package"
            f" {_PACKAGE}"
        )
    fonts = [ImageFont.truetype(FONT, size) for size in SIZES]
    ways = [(font, angle) for font in fonts for angle in ROTATIONS][:per_class]
    images = np.empty((classes, len(ways), 1, _SIDE, _SIDE), np.uint8)
    for label, character in enumerate(CHARACTERS[:classes]):
        for number, (font, angle) in enumerate(ways):
            upright = _written(character, font)
            turned = upright.rotate(angle, Image.Resampling.BICUBIC)
            small = turned.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS)
            images[label, number, 0] = np.asarray(small)
    labels = np.repeat(np.arange(classes, dtype=np.int64), len(ways))
    return images.reshape(-1, 1, _SIDE, _SIDE), labels


def _written(character: str, font: ImageFont.FreeTypeFont) -> Image.Image:
    """Draw the character with its ink centred in the figure."""
    figure = Image.new("L", (_FIGURE, _FIGURE), 0)
    pen = ImageDraw.Draw(figure)
    left, top, right, bottom = pen.textbbox((0, 0), character, font)
    place = ((_FIGURE - left - right) / 2, (_FIGURE - top - bottom) / 2)
    pen.text(place, character, 255, font)
    return figure
