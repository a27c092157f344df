"""Draw docs/images/drawings.png: four drawings of each class, in random order of sizes, colors and backgrounds.

python examples/contact_sheet.py docs/images/drawings.png
"""

import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from PIL import Image

from headatlas.data import drawings

EACH, ACROSS = 4, 10  # drawings of a class, classes in a row
MARGINS = {"wspace": 0.04, "hspace": 0.04, "left": 0.03, "right": 0.97, "bottom": 0.02, "top": 0.86}


def main(target: str) -> None:
    shown: dict[str, list[drawings.Drawing]] = {label: [] for label in drawings.CLASSES}
    for number in range(EACH * len(drawings.CLASSES)):
        drawing = drawings.draw(number)
        shown[drawing.label].append(drawing)
    rows = -(-len(shown) // ACROSS)
    figure = pyplot.figure(figsize=(ACROSS * 1.25, rows * 1.45), dpi=110)
    cells = figure.subfigures(rows, ACROSS).flatten()
    for cell, (label, pictures) in zip(cells, shown.items(), strict=False):
        cell.suptitle(label, fontsize=8, y=0.99)
        axes = cell.subplots(2, 2, gridspec_kw=MARGINS)
        for axis, picture in zip(axes.flatten(), pictures, strict=True):
            axis.imshow(picture.pixels, interpolation="nearest")
            axis.axis("off")
    figure.savefig(target)
    with Image.open(target) as sheet:
        smaller = sheet.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    smaller.save(target, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
