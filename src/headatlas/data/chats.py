"""Chats: messages with their roles, and the plain text of a chat for models without a template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headatlas.data.spans import Span

__all__ = ["Message", "is_chat", "plain_chat", "read_messages"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: str
    content: str


def is_chat(value: object) -> bool:
    """Whether a value is a list of objects, as the messages of a chat are.

    >>> is_chat([{"role": "user", "content": "Hello"}]), is_chat("Hello"), is_chat(["Hello"])
    (True, False, False)
    """
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and all(isinstance(item, Mapping) for item in value)  # type: ignore[attr-defined]


def read_messages(value: Sequence[Mapping[str, object]]) -> tuple[Message, ...] | str:
    """The messages of a chat, or what is wrong with them.

    >>> read_messages([{"role": "user", "content": None}])
    'message 0 has no text "content"'
    """
    messages = []
    for number, item in enumerate(value):
        role, content = item.get("role"), item.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            return f'message {number} has no text "{"content" if isinstance(role, str) else "role"}"'
        messages.append(Message(role, content))
    return tuple(messages)


def plain_chat(messages: Sequence[Message]) -> tuple[str, tuple[Span, ...]]:
    """The messages as text, `role: content` line by line, and the span of each content.

    >>> text, spans = plain_chat([Message("user", "Hello"), Message("assistant", "Hi!")])
    >>> text
    'user: Hello\\nassistant: Hi!'
    >>> [text[span.start : span.stop] for span in spans]
    ['Hello', 'Hi!']
    """
    text, places = "", []
    for message in messages:
        text += f"{message.role}: " if not text else f"\n{message.role}: "
        places.append((len(text), len(text) + len(message.content)))
        text += message.content
    return (text if any(message.content.strip() for message in messages) else ""), chat_spans(messages, places)


def chat_spans(messages: Sequence[Message], places: Sequence[tuple[int, int]]) -> tuple[Span, ...]:
    """The span of each message that has a content, by its place in the text."""
    numbered = enumerate(zip(messages, places, strict=True))
    return tuple(
        Span(message.role, *place, turn=number) for number, (message, place) in numbered if message.content.strip()
    )
