"""How buffers encode numbers as u16 values, little-endian: the one definition, also of the page's generated copy.

| encoding  | a value means                                                          |
| --------- | ---------------------------------------------------------------------- |
| label     | a cluster; `NOISE`, or `MISSING`: no such map                          |
| amount    | low + (high - low) * value / `TOP`; `UNKNOWN`                          |
| code      | a category, by its place in the column's list; `UNKNOWN`               |
| position  | a pair x, y in the plane from 0 to `TOP`; `UNKNOWN`: not in the plane  |
| attention | (value / `WHOLE`) ** 2                                                 |
"""

from __future__ import annotations

from typing import Literal

Encoding = Literal["label", "amount", "code"]  # of columns; other buffers have one encoding each

UNKNOWN = 65535
TOP = 65534  # the largest amount, and the far end of the plane
CENTER = TOP // 2  # the middle of the plane
NOISE = 65535
MISSING = 65534
WHOLE = 65535  # all attention of a query: 1
