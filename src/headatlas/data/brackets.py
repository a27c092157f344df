"""Brackets that mark mentions: opened at the first word of each and closed at its last."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

__all__ = ["Brackets", "Span", "UnbalancedError", "declared_chain"]

PIECE = re.compile(r"\((?P<opened>[^()|]+)(?P<closed>\))?|(?P<closing>[^()|]+)\)|\|")
PART = re.compile(r"(.+)\[(\d+)/\d+\]")  # of a mention in several parts, as CorefUD writes them

Span = tuple[str, int, int]  # chain, first word, and the word after the last


class UnbalancedError(ValueError):
    """A bracket without its partner, or no bracket at all."""


@dataclass
class Brackets:
    """The mentions of one document, word by word. Those of one chain may be nested, those of two may overlap."""

    chain_of: Callable[[str], str] = str  # of what follows an opening bracket
    strict: bool = True  # otherwise a closing bracket without a partner is passed over
    unit: str = "on line"  # what `line` counts
    opened: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # chain -> word and line of each

    def read(self, value: str, word: int, line: int = 0) -> Iterator[Span]:
        """The mentions that end at this word, by the brackets at it.

        >>> brackets = Brackets()
        >>> [span for word, value in enumerate(["(0|(1)", "0)"]) for span in brackets.read(value, word)]
        [('1', 0, 1), ('0', 0, 2)]
        """
        place = 0
        while place < len(value):
            piece = PIECE.match(value, place)
            if piece is None:
                raise UnbalancedError(f"{value!r} is not a list of brackets such as (0|(1)|2)")
            place = piece.end()
            if piece["opened"]:
                chain = self.chain_of(piece["opened"])
                self.opened.setdefault(chain, []).append((word, line))
            if piece["closed"] or piece["closing"]:
                yield from self._close(chain if piece["closed"] else piece["closing"], word)

    def _close(self, chain: str, word: int) -> Iterator[Span]:
        if not self.opened.get(chain):
            if not self.strict:
                return
            raise UnbalancedError(f"chain {chain} is closed, but no mention of it is open")
        start, _ = self.opened[chain].pop()
        part = PART.fullmatch(chain)
        if part is None or part[2] == "1":  # of a mention in parts, the first stands for it
            yield (part[1] if part else chain), start, word + 1

    def check_closed(self) -> None:
        """Raise an error if a mention is open at the end."""
        left = sorted((line, chain) for chain, places in self.opened.items() for _, line in places)
        if left:
            line, chain = left[0]
            raise UnbalancedError(f"a mention of chain {chain} that opens {self.unit} {line} is never closed")


def declared_chain(declaration: str | None) -> Callable[[str], str]:
    """How to find the chain among the fields of an opening bracket, by what `global.Entity` declares.

    >>> declared_chain("etype-eid-head")("person-e7-1")
    'e7'
    """
    names = (declaration or "").split("-")
    place = next((names.index(name) for name in ("GRP", "eid") if name in names), 0)

    def chain(fields: str) -> str:
        values = fields.split("-")
        if place >= len(values):
            raise UnbalancedError(f"({fields} has no field number {place + 1}, which names the chain")
        return values[place]

    return chain
