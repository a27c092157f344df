"""A chat as the model reads it: in the form of the tokenizer's chat template, with the place of every message."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from headatlas.data import Example, Message, Span
from headatlas.data.chats import chat_spans
from headatlas.errors import DataError

DAY = datetime.datetime(2024, 7, 26)  # some templates mention the date: the same data must give the same text
MARK = "\ue000{}\ue001"  # a private character on each side, which no message has
MARKED = re.compile("\ue000(\\d+)\ue001")


def has_template(tokenizer: Any) -> bool:
    """Whether a tokenizer says how chats are written."""
    return bool(getattr(tokenizer, "chat_template", None))


def rendered(tokenizer: Any, example: Example) -> Example:
    """An example whose text is in the form of the chat template; itself if it is no chat, or there is no template."""
    if not example.messages or not has_template(tokenizer):
        return example
    try:
        text, spans = _chat(tokenizer, str(tokenizer.chat_template), example.messages)
    except ValueError as error:
        raise DataError(
            f"example {example.id}: {error}. Leave it out, or give its text, with its spans in a column `spans`"
        ) from error
    return replace(example, text=text, spans=spans)


@lru_cache(maxsize=1)  # `collect` stores the text of an example, then encodes it
def _chat(tokenizer: Any, template: str, messages: tuple[Message, ...]) -> tuple[str, tuple[Span, ...]]:
    """The text of a chat and the spans of its messages; `template` tells what is cached from other templates."""
    text = _render(tokenizer, messages)
    marked = _render(tokenizer, [replace(message, content=MARK.format(n)) for n, message in enumerate(messages)])
    return text, chat_spans(messages, find_contents(text, marked, messages))


def _render(tokenizer: Any, messages: Sequence[Message]) -> str:
    chat = [{"role": message.role, "content": message.content} for message in messages]
    try:
        return str(tokenizer.apply_chat_template(chat, tokenize=False, strftime_now=DAY.strftime))
    except Exception as error:  # a template may raise anything
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"the model's chat template refuses it ({reason})") from error


def find_contents(text: str, marked: str, messages: Sequence[Message]) -> list[tuple[int, int]]:
    """The place of each message's content in a text, from the same text with marks in their places.

    >>> messages = [Message("user", " user "), Message("bot", "Hi")]
    >>> marked = f"<user>{MARK.format(0)}<bot>{MARK.format(1)}."
    >>> find_contents("<user>user<bot>Hi.", marked, messages)
    [(6, 10), (15, 17)]
    """
    first, *parts = MARKED.split(marked)  # what comes before, then number and what follows of each mark
    place = len(first)
    places = {}
    for number, follows in zip(map(int, parts[::2]), parts[1::2], strict=True):
        content = messages[number].content
        forms = (content, content.strip(), content.lstrip(), content.rstrip())
        form = next((form for form in forms if text.startswith(form + follows, place)), None)
        if form is None:
            raise ValueError(f"the model's chat template changes message {number}, so that its place is not known")
        places[number] = (place, place + len(form))
        place += len(form) + len(follows)
    if len(places) < len(messages) or place != len(text) or not text.startswith(first):
        raise ValueError("the model's chat template leaves out or repeats a message, so that places are not known")
    return [places[number] for number in range(len(messages))]


def special_ids(tokenizer: Any) -> list[int]:
    """Ids of the special tokens that a template may write."""
    return [number for number, token in tokenizer.added_tokens_decoder.items() if token.special]
