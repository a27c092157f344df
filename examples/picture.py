"""Draw the mean map of every head of an atlas into a PNG file.

python examples/picture.py demo.atlas docs/images/heads.png
"""

import sys

from PIL import Image, ImageDraw, ImageFont

import headatlas as ha
from headatlas.show import CELL, GAP, draw, mean_maps

SCALE, LEFT, TOP, EDGE = 2, 96, 56, 24
PAPER, GREY, INK = "#ffffff", "#6b7280", "#1f2937"


def main(path: str, target: str) -> None:
    atlas = ha.open(path)
    maps = mean_maps(atlas)
    grid = Image.fromarray(draw(maps))
    grid = grid.resize((grid.width * SCALE, grid.height * SCALE), Image.Resampling.NEAREST)
    page = Image.new("RGB", (LEFT + grid.width + EDGE, TOP + grid.height + EDGE), PAPER)
    page.paste(grid, (LEFT, TOP), grid)
    pen, step = ImageDraw.Draw(page), (CELL + GAP) * SCALE
    small, plain = ImageFont.load_default(18), ImageFont.load_default(20)
    for head in range(maps.shape[1]):
        pen.text((LEFT + head * step + CELL * SCALE // 2, TOP - 8), str(head), GREY, small, anchor="ms")
    for layer in range(maps.shape[0]):
        pen.text((LEFT - 12, TOP + layer * step + CELL * SCALE // 2), str(layer), GREY, small, anchor="rm")
    pen.text((LEFT, 24), "head", INK, plain, anchor="ls")
    pen.text((EDGE, TOP + CELL * SCALE // 2), "layer", INK, plain, anchor="lm")
    page.save(target, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
