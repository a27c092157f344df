"""Random changes of bytes, by a seeded generator: damage of a disk, and values that no one expects."""

import re

NUMBERS = [b"9" * 19, b"1" * 30, b"7" * 5000, b"-" + b"8" * 400, b"1e999", b"NaN", b"-0", b"1.5", b"99999-12-31"]
VALUES = [
    b"null", b"true", b'"a"', b"[]", b"{}", b"[[1], 2]", b'{"a": {}}', b"[" * 80 + b"]" * 80, b"[" * 3000 + b"]" * 3000,
    b'{"a": 1, "a": [true]}', b'"\\ud800"', b'{"\\udfff": "\\ud800"}', b"[1, true]", b"18446744073709551616",
]  # fmt: skip
SNIPPETS = [
    b"\x00", b"\n", b"\r", b"\r\n\n", b"\t", b",", b'"', b"'", b"\\", b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\x1b[2J", "\u2028".encode(), "\u202e".encode(), "\x85".encode(), b"#", b"1-2-3", b"1.", b"-1", b"_", b"=", b" ",
    b"# global.columns = ID\n", b"\\ud83d", "語".encode(), "\U0001f600".encode(),
]  # fmt: skip


def flip(rng, content):
    """One bit changed."""
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def overwrite(rng, content):
    """A few bytes replaced by random ones."""
    at, size = rng.randrange(len(content)), rng.randint(1, 8)
    return content[:at] + rng.randbytes(size) + content[at + size :]


def insert(rng, content):
    """Random or unusual bytes inserted."""
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice([*SNIPPETS, rng.randbytes(rng.randint(1, 9))]) + content[at:]


def cut(rng, content):
    """The end missing."""
    return content[: rng.randrange(len(content))]


def remove(rng, content):
    """Some bytes missing."""
    at = rng.randrange(len(content))
    return content[:at] + content[at + rng.randint(1, 20) :]


def repeat_line(rng, content):
    """A line that occurs twice, or at another place."""
    lines = content.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"".join(lines)


def replace_number(rng, content):
    """A number replaced by one that is huge or odd."""
    return _replace(rng, content, rb"-?\d+(\.\d+)?", [*NUMBERS, *VALUES])


def replace_value(rng, content):
    """A quoted string, or a whole cell, replaced by a value of another type."""
    return _replace(rng, content, rb'"[^"]*"|[^\t\n,]+', [*VALUES, *NUMBERS])


def _replace(rng, content, pattern, values):
    matches = list(re.finditer(pattern, content[:100_000]))
    if not matches:
        return insert(rng, content)
    match = rng.choice(matches)
    return content[: match.start()] + rng.choice(values) + content[match.end() :]


MUTATIONS = [flip, overwrite, insert, cut, remove, repeat_line, replace_number, replace_value]


def mutated(rng, content):
    """One to three random changes."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if content:
            content = rng.choice(MUTATIONS)(rng, content)
    return content
