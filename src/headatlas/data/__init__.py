"""Read a dataset, one example at a time.

    >>> from headatlas.data import load
    >>> dataset = load("sample:questions", limit=2)
    >>> for example in dataset:
    ...     print(example.id, example.text)
    tides-0-0 What do the children look for under the stones?
    tides-0-1 How many children walk out with buckets?

`load` takes the name of a dataset in one of the forms listed in docs/data.md, or a table or texts in memory:

    >>> [example.text for example in load(["To be, or not to be.", "That is the question."])]
    ['To be, or not to be.', 'That is the question.']
"""

from headatlas.data.chats import Message
from headatlas.data.dataset import Dataset, Example, Skipped, Window
from headatlas.data.spans import Span
from headatlas.data.specs import load

__all__ = ["Dataset", "Example", "Message", "Skipped", "Span", "Window", "load"]


def __dir__() -> list[str]:
    return sorted(__all__)
