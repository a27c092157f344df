"""A row of float32 numbers as one value in a numba function: arithmetic on it uses vector lanes.

LLVM lowers such a value to whatever the machine supports (AVX-512, AVX2, NEON, SSE); the loops that use it stay plain
arithmetic. `load(array, i)` reads row i of a C-contiguous (rows, WIDTH) float32 array, `store` writes it,
`spread(x)` has x in every lane. Values of this type live inside compiled functions only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model
from numba.np.arrayobj import make_array

WIDTH = 8
FLAGS = ("contract", "reassoc", "nsz", "arcp")  # products and sums may be fused; NaN and infinity are preserved
_VECTOR = ir.VectorType(ir.FloatType(), WIDTH)
_WORD = ir.IntType(32)


class LanesType(types.Type):  # type: ignore[misc]
    """The numba type of a row of lanes."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{WIDTH}")


LANES = LanesType()


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """It is an LLVM vector."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _row(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """The address of row `index` of an array, as a vector."""
    data = make_array(kind)(context, builder, array).data
    return builder.gep(builder.bitcast(data, _VECTOR.as_pointer()), [index])


@intrinsic
def load(context: Any, array: Any, index: Any) -> Any:
    """Row `index` of an array."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = builder.load(_row(target, builder, signature.args[0], arguments[0], arguments[1]))
        row.align = 4  # arrays are aligned to their elements only
        return row

    return LANES(array, types.int64), generate


@intrinsic
def store(context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write row `index` of an array."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _row(target, builder, signature.args[0], arguments[0], arguments[1])
        builder.store(arguments[2], place).align = 4
        return target.get_dummy_value()

    return types.void(array, types.int64, LANES), generate


@intrinsic
def spread(context: Any, number: Any) -> Any:
    """One number in every lane."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(nothing, arguments[0], ir.Constant(_WORD, 0))
        return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_WORD, WIDTH), [0] * WIDTH))

    return LANES(types.float32), generate


def _arithmetic(sign: Callable[[Any, Any], Any], name: str) -> None:
    """Define `a sign b` for two rows of lanes in numba."""

    @intrinsic
    def both(context: Any, a: Any, b: Any) -> Any:
        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(*arguments, flags=FLAGS)

        return LANES(LANES, LANES), generate

    @overload(sign, inline="always", strict=False)
    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, LanesType) and isinstance(b, LanesType):
            return lambda a, b: both(a, b)
        return None


for _sign, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_sign, _name)

__all__ = ["LANES", "WIDTH", "LanesType", "load", "spread", "store"]
