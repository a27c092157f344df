"""Every detector of a named kind of head, declared once: what such heads are called, and the keys they attend to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from headatlas.models.model import Grid
from headatlas.stages.probe import key_sets
from headatlas.stages.probe.key_sets import NEAR, Labels, Mask

Side = Literal["causal", "bidirectional", "cross"]
Chance = Literal["even", "tokens"]

EFFECT = 0.1  # more attention than by chance from which a head has a role
FALSE = 0.05  # share of false roles among those found
TEXTS, REPEATED = "texts", "repeated"  # what detectors read: the texts of the atlas, repeated random tokens


@dataclass(frozen=True)
class Detector:
    """A role of heads: the keys on which a head with this role has its attention."""

    name: str
    called: str  # in the literature
    definition: str
    keys: Callable[[Labels, Labels], Mask]
    chance: Chance = "tokens"
    layers: tuple[Side, ...] = ("causal", "bidirectional")
    repeated: bool = False  # whether it is also tried on repeated random tokens
    image: Callable[[Grid], Mask] | None = None  # its keys for patches of images


BIDIRECTIONAL: tuple[Side, ...] = ("bidirectional",)
CAUSAL: tuple[Side, ...] = ("causal",)
ALL: tuple[Side, ...] = ("causal", "bidirectional", "cross")
DETECTORS: tuple[Detector, ...] = (
    Detector("previous", "previous-token head", "the token before the query", key_sets.previous, "even"),
    Detector("next", "next-token head", "the token after the query", key_sets.following, "even", BIDIRECTIONAL),
    Detector(
        "self", "self-attention (diagonal) head", "the query itself", key_sets.itself, "even",
        image=key_sets.patch_itself,
    ),
    Detector(
        "local", "local (window) head",
        f"the {NEAR} tokens before the query and, in bidirectional layers, the {NEAR} after it; of an image, the "
        "patches around the query", key_sets.local, "even", image=key_sets.patches_around,
    ),
    Detector(
        "first", "attention sink (first-token head)", "the first token, for all other queries; of an image, [CLS]",
        key_sets.first, "even", ALL, image=key_sets.first_special,
    ),
    Detector(
        "separator", "separator head", "special tokens other than the first; of an image, registers",
        key_sets.separator, "even", ALL, image=key_sets.other_special,
    ),
    Detector(
        "punctuation", "punctuation head", "full stops and commas other than the query",
        key_sets.punctuation, layers=ALL,
    ),
    Detector(
        "duplicate", "duplicate-token head", "the same token elsewhere; in causal layers, earlier",
        key_sets.duplicate, layers=ALL, repeated=True,
    ),
    Detector(
        "induction", "induction head", "the token after an earlier occurrence of the query, neighbors left out",
        key_sets.induction, layers=ALL, repeated=True,
    ),
    Detector(
        "mirror", "mirrored induction head (no established name)",
        "the token before a later occurrence of the query, neighbors left out",
        key_sets.mirror, layers=BIDIRECTIONAL, repeated=True,
    ),
    Detector(
        "copy", "copying (retrieval) head, by its map", "earlier occurrences of the token that comes next in the text",
        key_sets.copied, layers=CAUSAL,
    ),
    Detector("sentence", "same-sentence (block) head", "other tokens of the same sentence", key_sets.same_sentence),
)  # fmt: skip
BY_NAME = {detector.name: detector for detector in DETECTORS}


def detectors_of(side: Side, on: str = TEXTS) -> list[Detector]:
    """The detectors of a kind of layer; on repeated random tokens only some."""
    return [each for each in DETECTORS if side in each.layers and (on == TEXTS or (each.repeated and side != "cross"))]
