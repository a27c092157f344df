"""The phrases that name clusters, each declared once, with its forms in a sentence."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class Naming:
    """A phrase that names clusters, and its forms in a sentence: a head attends to a `target`, or in a `manner`.

    `says` is a clause about all maps of a cluster, and `comparative` tells a cluster from another of the same name. A
    phrase with a `bound` needs a mean of at least that if it describes high values, at most that if low ones.
    """

    phrase: str
    target: str = ""
    manner: str = ""
    bound: float | None = None
    _: KW_ONLY
    says: str
    comparative: str = ""


# the mass on some kind of token
SEPARATORS = Naming("rests on separators", target="separators", says="attention rests on separators")
FIRST = Naming("rests on the first token", target="the first token", says="attention rests on the first token")
PREVIOUS_TOKEN = Naming("previous token", target="the previous token", says="each token attends to the one before it")
TOKEN_ITSELF = Naming("token itself", target="the token itself", says="each token attends to itself")
NEXT_TOKEN = Naming("next token", target="the next token", says="each token attends to the one after it")
PUNCTUATION = Naming("punctuation", target="punctuation", says="attention goes to full stops and commas")
SAME_WORD_ELSEWHERE = Naming(
    "same word elsewhere", target="the same word elsewhere", says="each token attends to the same token elsewhere"
)
SAME_FEW = Naming("the same few tokens", target="the same few tokens", says="many tokens attend to the same few tokens")
SAME_ROW = Naming("same row", target="patches of the same row", says="each patch attends to others of its row")
SAME_COLUMN = Naming(
    "same column", target="patches of the same column", says="each patch attends to others of its column"
)
TOKENS_JUST_BEFORE = Naming(
    "tokens just before", target="the tokens just before", says="each token attends to the few before it"
)
TOKENS_JUST_AFTER = Naming(
    "tokens just after", target="the tokens just after", says="each token attends to the few after it"
)
NEIGHBORING_TOKENS = Naming(
    "neighboring tokens", target="neighboring tokens", says="each token attends to itself and its neighbors"
)
INDUCTION = Naming(
    "induction", target="what followed the same token", says="each token attends to what followed the same token"
)

# how attention is spread; several statistics may measure the same
EVEN = Naming("spreads evenly", manner="evenly", bound=0.85, says="attention spreads evenly", comparative="broader")
WIDE = Naming("spreads widely", manner="broadly", bound=0.2, says="attention spreads widely", comparative="broader")
SHARP = Naming("focuses sharply", manner="sharply", bound=0.5, says="attention focuses sharply", comparative="sharper")
DISTANT_PATCHES = Naming(
    "distant patches", manner="far", says="attention goes to distant patches", comparative="more distant"
)
NEARBY_PATCHES = Naming(
    "nearby patches", manner="nearby", says="attention stays on nearby patches", comparative="nearer"
)
DISTANT_TOKENS = Naming(
    "distant tokens", manner="far", bound=1 / 3, says="attention goes to distant tokens", comparative="more distant"
)
NEARBY_TOKENS = Naming(
    "nearby tokens", manner="nearby", bound=1 / 3, says="attention stays on nearby tokens", comparative="nearer"
)
LOOKS_AHEAD = Naming(
    "looks ahead", manner="ahead", bound=0.05, says="each token looks ahead", comparative="further ahead"
)
LOOKS_BACK = Naming("looks back", manner="back", bound=-0.05, says="each token looks back", comparative="further back")
