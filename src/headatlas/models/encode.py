"""Examples as the model reads them: tokens with their words, and windows of long texts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headatlas.data import Example, Window
from headatlas.errors import DataError, OptionError
from headatlas.models.chat_text import has_template, rendered, special_ids
from headatlas.models.token_spans import lost_spans, with_spans

Overlong = Literal["truncate", "window"]


class Reads(Protocol):
    """What of a model turns texts into tokens."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def network(self) -> Any: ...  # noqa: D102
    @property
    def tokenizer(self) -> Any: ...  # noqa: D102
    @property
    def max_tokens(self) -> int: ...  # noqa: D102
    @property
    def encoder_decoder(self) -> bool: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text: each with its piece of text, its word (-1 for none) and its position in the text."""

    ids: NDArray[np.int32]
    text: list[str]
    word: NDArray[np.int32]
    special: NDArray[np.bool_]
    segment: NDArray[np.int8]  # 0 first text, 1 second text
    start: NDArray[np.int32]
    stop: NDArray[np.int32]
    span: list[str | None] | None = None  # the span that each is of; None for the whole: the example has no spans
    turn: NDArray[np.int32] | None = None  # number of the message in a chat, -1 for none

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example, or one window of it; `cut` counts the tokens lost to truncation, `lost` whole spans."""

    source: Tokens
    target: Tokens | None = None
    window: int = 0
    windows: int = 1
    cut: int = 0
    lost: int = 0


def encode(
    model: Reads,
    example: Example,
    *,
    max_tokens: int | None = None,
    overlong: Overlong = "truncate",
    window: Window | None = None,
) -> list[Encoded]:
    """Encode an example as a list of windows: one, or several if it is too long; none if it has no tokens."""
    size = min(max_tokens or model.max_tokens, model.max_tokens)
    if window is None and overlong == "window":
        window = Window(size, size // 4)
    if window is not None and window.size > size:
        window = Window(size, min(window.overlap, size // 2))
    example = rendered(model.tokenizer, example)
    added = not (example.messages and has_template(model.tokenizer))  # special tokens; a template writes them itself
    first = " ".join(example.words) if example.words else example.text or ""
    second = None if model.encoder_decoder else example.pair
    encodings, cut = _encodings(model.tokenizer, first, second, size, window, special=added)
    target, missing = _target(model, example.pair or first, size, added) if model.encoder_decoder else (None, 0)
    sources = [_tokens(model.tokenizer, encoding, added) for encoding in encodings]
    if example.words:
        sources = [_with_words(tokens, example.words) for tokens in sources]
    lost = 0
    if example.spans:
        sources, target, lost = _with_spans(sources, target, example, bool(cut + missing))
    return [
        Encoded(tokens, target, number, len(sources), cut + missing, lost)
        for number, tokens in enumerate(sources)
        if len(tokens)
    ]


def _with_spans(
    sources: list[Tokens], target: Tokens | None, example: Example, cut: bool
) -> tuple[list[Tokens], Tokens | None, int]:
    """Tokens with their spans, and the number of spans that truncation left no token of."""
    spans = example.spans
    sources = [with_spans(tokens, spans) for tokens in sources]
    texts = list(sources)
    if target is not None:  # tokens of a target are of the pair, or of the text if there is none
        target = with_spans(target, spans if example.pair else [replace(span, pair=True) for span in spans])
        texts.append(target)
    return sources, target, lost_spans(texts, spans) if cut else 0


def _encodings(
    tokenizer: Any, first: str, second: str | None, size: int, window: Window | None, *, special: bool = True
) -> tuple[list[Any], int]:
    """Encodings of the tokenizers library, none longer than `size`, and the number of tokens cut off."""
    tokenizer = partial(tokenizer, add_special_tokens=special, verbose=False)
    full = tokenizer(first, second, truncation=False).encodings[0]
    length = len(full.ids)
    if length <= (window.size if window else size):
        return [full], 0
    if window is not None:
        fixed = sum(part != 1 for part in full.sequence_ids) if second is not None else sum(full.special_tokens_mask)
        room = window.size - fixed
        if room > 0:
            parts = tokenizer(
                first,
                second,
                truncation=True if second is None else "only_second",
                max_length=window.size,
                stride=window.overlap if window.overlap < room else room // 2,
                return_overflowing_tokens=True,
            )
            return parts.encodings, 0
        size = window.size
    if size <= sum(full.special_tokens_mask):
        raise OptionError(
            f"{size} tokens leave no room for text: {sum(full.special_tokens_mask)} of them are special. Allow more."
        )
    return tokenizer(first, second, truncation=True, max_length=size).encodings, length - size


def _tokens(tokenizer: Any, encoding: Any, added: bool = True) -> Tokens:
    words = [-1 if word is None else word for word in encoding.word_ids]
    special = np.array(encoding.special_tokens_mask, bool)
    if not added:  # special tokens that the text of a template has are not marked
        special |= np.isin(encoding.ids, special_ids(tokenizer))
    offsets = np.array(encoding.offsets, np.int32).reshape(-1, 2)
    return Tokens(
        np.array(encoding.ids, np.int32),
        readable(tokenizer, encoding.tokens),
        np.where(special, -1, np.array(words, np.int32)).astype(np.int32),
        special,
        np.array(_segments(tokenizer, encoding), np.int8),
        offsets[:, 0],
        offsets[:, 1],
    )


def _segments(tokenizer: Any, encoding: Any) -> Iterable[int]:
    """The token types of the tokenizer; if it has none, special tokens belong to the text before them."""
    if "token_type_ids" in tokenizer.model_input_names:
        types: list[int] = encoding.type_ids
        return types
    return list(
        accumulate(encoding.sequence_ids, lambda before, current: before if current is None else current, initial=0)
    )[1:]


def _with_words(tokens: Tokens, words: tuple[str, ...]) -> Tokens:
    """Number the words of a text given as words joined by single spaces, by the last character of each token."""
    starts = list(accumulate((len(word) + 1 for word in words[:-1]), initial=0))
    last = np.maximum(tokens.stop - 1, 0)
    in_text = ~tokens.special & (tokens.segment == 0)
    word = [bisect_right(starts, position) - 1 for position in last]
    return replace(tokens, word=np.where(in_text, word, tokens.word).astype(np.int32))


def _target(model: Reads, text: str, size: int, added: bool) -> tuple[Tokens, int]:
    """What the decoder reads: the target shifted right by one after the start token, as in training."""
    encodings, cut = _encodings(model.tokenizer, text, None, size, None, special=added)
    tokens = _tokens(model.tokenizer, encodings[0], added)
    start = start_token(model)
    return Tokens(
        np.concatenate([[start], tokens.ids[:-1]]).astype(np.int32),
        [*readable(model.tokenizer, model.tokenizer.convert_ids_to_tokens([start])), *tokens.text[:-1]],
        np.concatenate([[-1], tokens.word[:-1]]).astype(np.int32),
        np.concatenate([[True], tokens.special[:-1]]),
        np.ones(max(len(tokens), 1), np.int8),
        np.concatenate([[0], tokens.start[:-1]]).astype(np.int32),
        np.concatenate([[0], tokens.stop[:-1]]).astype(np.int32),
    ), cut


def start_token(model: Reads) -> int:
    """The token a decoder starts with."""
    config: Any = model.network.config
    generation = getattr(model.network, "generation_config", None)
    candidates = [getattr(source, "decoder_start_token_id", None) for source in (config, generation)]
    candidates += [getattr(config, "bos_token_id", None), getattr(config, "pad_token_id", None)]
    start = next((token for token in candidates if token is not None), None)
    if start is None:
        raise DataError(f"{model.name} does not say which token its decoder starts with (decoder_start_token_id)")
    return int(start)


def readable(tokenizer: Any, tokens: Iterable[str]) -> list[str]:
    """Readable pieces: byte-level and SentencePiece marks become the spaces they stand for."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if "ByteLevel" in repr(getattr(backend, "decoder", None)):
        return [_from_bytes(token) for token in tokens]
    return [token.replace("▁", " ") for token in tokens]


def _from_bytes(token: str) -> str:
    table = _byte_of_character()
    if any(character not in table for character in token):
        return token  # an added token such as <|endoftext|> is not spelled in bytes
    return bytes(table[character] for character in token).decode("utf-8", errors="replace")


@lru_cache(maxsize=1)
def _byte_of_character() -> dict[str, int]:
    """Byte-level vocabularies show printable bytes as themselves and the others as characters from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
