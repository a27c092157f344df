"""How buffers encode numbers as u16 values, little-endian: the one definition, also of the page's generated copy.

| encoding  | a value means                                                               |
| --------- | --------------------------------------------------------------------------- |
| label     | a cluster; `NOISE`, or `MISSING`: no such map                               |
| amount    | low + (high - low) * value / `TOP`; `UNKNOWN`                               |
| code      | a category, by its index in the list of the column; `UNKNOWN`               |
| position  | a pair x, y of coordinates from 0 to `TOP`; `UNPLACED`: not in the plane    |
| attention | (value / `FULL`) ** 2                                                       |
| half      | the bits of a 16-bit floating point number, as IEEE 754 defines them        |
"""

from __future__ import annotations

from typing import Literal

Encoding = Literal["label", "amount", "code"]  # of columns; every other buffer has one encoding

TOP, FULL, CODES = 65534, 65535, 65536
NOISE, MISSING = 65535, 65534
UNKNOWN, UNPLACED = 65535, 65535

MEANINGS = {
    "TOP": "The largest amount and coordinate.",
    "FULL": "An attention weight of 1.",
    "CODES": "The number of different values.",
    "NOISE": "Label of a map that belongs to no cluster.",
    "MISSING": "Label of a map that does not exist.",
    "UNKNOWN": "An amount or a code that is not known.",
    "UNPLACED": "A coordinate of a point that has no position.",
}
