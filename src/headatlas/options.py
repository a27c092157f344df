"""Options, declared once: fields of a frozen dataclass that carry their help and the values they may have.

Checks, flags of the command line, tables in the docs, and signatures and docstrings of the public functions are made
from the declaration.

>>> @dataclass(frozen=True)
... class Tea:
...     minutes: int | Auto = option("auto", help="How long the tea draws.", least=1)
>>> (minutes,) = declared(Tea)
>>> minutes.flag, minutes.parse("4"), minutes.parse("auto")
('--minutes', 4, 'auto')
>>> check(Tea(minutes=0))
Traceback (most recent call last):
headatlas.errors.OptionError: minutes 0: give a whole number of at least 1, or auto
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from headatlas.errors import OptionError

Auto = Literal["auto"]
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Described = tuple[tuple[str, str, str], ...]  # parameters: name, types and meaning

# Options that mean the same in every stage.
OF = "Name of the result to use; the latest if it is not given."
NAME = "Name of the new result, to keep several side by side."
SEED = "Random seed."
WORKERS = "Local processes; 0 works in threads of this one."
SCHEDULER = "Address of a running Dask scheduler."


@dataclass(frozen=True)
class Option:
    """A declared option: its name, type and default, and what a value must be."""

    name: str
    annotation: Any  # a number, text, or Literal words; alone or joined by |
    default: Any
    help: str
    least: float | None = None
    above: float | None = None
    noun: str | None = None  # what a number is, such as "distance"
    auto: str | None = None  # what the word `auto` chooses

    @property
    def flag(self) -> str:
        """The option on the command line.

        >>> Option("min_samples", int, 10, "").flag
        '--min-samples'
        """
        return f"--{self.name.replace('_', '-')}"

    @property
    def words(self) -> tuple[str, ...]:
        """Words that are values: choices, or `auto` in place of a number."""
        return tuple(word for part in self._parts for word in get_args(part) if get_origin(part) is Literal)

    @property
    def kind(self) -> type[int] | type[float] | type[str] | None:
        """The type of values that are not words; None if there are only words."""
        return next((part for part in self._parts if part in (int, float, str)), None)

    @property
    def types(self) -> str:
        """What a value may be, as docstrings write it.

        >>> Option("k", int | Auto, "auto", "").types, Option("of", str | None, None, "").types
        ('int or "auto"', 'str, optional')
        """
        kinds = (self.kind.__name__,) if self.kind else ()
        text = either((*kinds, *(f'"{word}"' for word in self.words)))
        return f"{text}, optional" if self.default is None else text

    @property
    def meaning(self) -> str:
        """What it does, and what `auto` chooses."""
        return f"{self.help} Auto: {self.auto}." if self.auto else self.help

    @property
    def _parts(self) -> tuple[Any, ...]:
        if get_origin(self.annotation) is Literal:
            return (self.annotation,)
        return get_args(self.annotation) or (self.annotation,)

    def parse(self, text: str) -> Any:
        """Parse a value typed on the command line.

        >>> Option("eps", float | Auto, "auto", "").parse("x")
        Traceback (most recent call last):
        headatlas.errors.OptionError: --eps x: give a number or auto
        """
        if self.kind is None or text in self.words:
            return text
        try:
            return self.kind(text)
        except ValueError:
            raise OptionError(f"{self.flag} {text}: give {' or '.join(('a number', *self.words))}") from None

    def check(self, value: Any, label: str | None = None) -> None:
        """Refuse a value that this option cannot have; `label` is what the error calls the option."""
        if not self._allows(value):
            shown = repr(value) if isinstance(value, str) else value
            raise OptionError(f"{label or self.name} {shown}: {self._expected()}")

    def _allows(self, value: Any) -> bool:
        if value is None:
            return type(None) in self._parts
        if isinstance(value, str):
            return value in self.words or self.kind is str
        if self.kind not in (int, float) or isinstance(value, bool):
            return False
        if not isinstance(value, int if self.kind is int else int | float) or not math.isfinite(value):
            return False
        return (self.least is None or value >= self.least) and (self.above is None or value > self.above)

    def _expected(self) -> str:
        """The end of an error: what to give instead.

        >>> Option("level", Literal["maps", "heads"], "maps", "")._expected()
        'choose maps or heads'
        """
        if self.kind is None:
            return f"choose {either(self.words)}"
        if self.kind is str:
            return "give text"
        if self.least == 0 and not self.words:
            return "it cannot be negative"
        wanted = f"give a {self.noun or ('whole number' if self.kind is int else 'number')}"
        wanted += f" of at least {self.least:g}" if self.least is not None else ""
        wanted += f" above {self.above:g}" if self.above is not None else ""
        return wanted + (f", or {either(self.words)}" if self.words else "")


def option(
    default: Any,
    *,
    help: str,  # noqa: A002 - the usual word
    least: float | None = None,
    above: float | None = None,
    noun: str | None = None,
    auto: str | None = None,
) -> Any:
    """A field of a dataclass that is an option; see `Option` for what the arguments mean."""
    declaration = {"help": help, "least": least, "above": above, "noun": noun, "auto": auto}
    return field(default=default, metadata={"option": declaration})


def declared(cls: type) -> tuple[Option, ...]:
    """The options among the fields of a dataclass, in their order."""
    types = get_type_hints(cls)
    return tuple(
        Option(item.name, types[item.name], item.default, **item.metadata["option"])
        for item in fields(cls)
        if "option" in item.metadata
    )


def combined(method: type, *shared: type, **defaults: Any) -> tuple[Option, ...]:
    """The options of a method, then those it shares with other methods; `defaults` replaces some defaults."""
    common = tuple(option for cls in shared for option in declared(cls))
    names = {option.name for option in common}
    method_options = tuple(option for option in declared(method) if option.name not in names)
    options = method_options + common
    return tuple(replace(option, default=defaults.get(option.name, option.default)) for option in options)


def public(
    options: tuple[Option, ...],
    returns: str,
    atlas: str | Described = "An atlas with features.",
    *more: tuple[str, str, str],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Give a function of an atlas and `**shared` its full signature, and docs of its parameters and `returns`.

    `atlas` says what the atlas must have; for a function of something else, it describes the parameters that come
    first. `more` describes parameters that are no options: name, types and meaning.
    """
    leading = (("atlas", "Atlas, str or path", atlas),) if isinstance(atlas, str) else atlas

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        try:
            written = inspect.signature(function, eval_str=True)
        except NameError:  # a type is imported for type checkers only
            written = inspect.signature(function)
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [
            inspect.Parameter(option.name, keyword, default=option.default, annotation=option.annotation)
            for option in options
        ]
        parameters += [written.parameters[name] for name, _, _ in more]
        first = [written.parameters[name] for name in list(written.parameters)[: len(leading)]]
        signature = written.replace(parameters=[*first, *parameters])

        @functools.wraps(function)
        def complete(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            bound.apply_defaults()
            return function(*bound.args, **bound.kwargs)

        complete.__signature__ = signature  # type: ignore[attr-defined]
        complete.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
        complete.__doc__ = "\n".join(
            (inspect.getdoc(function) or "", "", *_sections(returns, (*leading, *_described(options), *more)))
        )
        return complete

    return decorate


def _described(options: tuple[Option, ...]) -> Described:
    return tuple((option.name, option.types, option.meaning) for option in options)


def _sections(returns: str, rows: Described) -> list[str]:
    """The sections of a docstring on parameters and returns."""
    parameters = [line for name, types, meaning in rows for line in (f"{name} : {types}", f"    {meaning}")]
    return ["Parameters", "----------", *parameters, "", "Returns", "-------", *inspect.cleandoc(returns).splitlines()]


def check(values: Any) -> None:
    """Refuse an object of a dataclass with an invalid option."""
    for option in declared(type(values)):
        option.check(getattr(values, option.name))


def either(words: tuple[str, ...]) -> str:
    """A choice in words.

    >>> either(("kmeans", "dbscan", "hdbscan")), either(("sklearn",))
    ('kmeans, dbscan or hdbscan', 'sklearn')
    """
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
