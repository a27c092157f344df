"""Flags made from declared options: a command with `**flags` gets one flag per option of its methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import typer

from headatlas.errors import OptionError
from headatlas.options import Option, either

Command = TypeVar("Command", bound=Callable[..., None])
Methods = Mapping[str, Sequence[Option]]  # the options of each method

PANEL = "Options of one {}"


@dataclass(frozen=True)
class Flag:
    """A flag and the methods that take it."""

    takers: Mapping[str, Option]
    shared: bool  # whether all methods take it

    @property
    def option(self) -> Option:
        """The option of the first method; name and type are the same in all."""
        return next(iter(self.takers.values()))

    @property
    def help(self) -> str:
        """The help text, per method where it differs."""
        if self.shared:
            return self.option.help
        texts: dict[str, list[str]] = {}
        for method, option in self.takers.items():
            texts.setdefault(option.help, []).append(method)
        return " ".join(f"{', '.join(methods)}: {text[0].lower()}{text[1:]}" for text, methods in texts.items())

    @property
    def default(self) -> str:
        """The default as text, per method where it differs; empty for None."""
        defaults = {method: option.default for method, option in self.takers.items() if option.default is not None}
        if len(set(defaults.values())) > 1 or (defaults and len(defaults) < len(self.takers)):
            return ", ".join(f"{method} {_number(default)}" for method, default in defaults.items())
        return _number(next(iter(defaults.values()))) if defaults else ""

    def parameter(self, of: str) -> inspect.Parameter:
        """The parameter for Typer; `of` is what a method is called.

        Its default is None: if the flag is not given, the function uses its own default.
        """
        kind = self.option.kind
        values: Any = kind if kind in (int, float) and not self.option.words else str
        info = typer.Option(
            self.option.flag,
            help=self.help,
            metavar="|".join(self.option.words) if kind is None else None,
            show_default=self.default or False,
            rich_help_panel=None if self.shared else PANEL.format(of),
        )
        annotation = Annotated[values | None, info]
        return inspect.Parameter(self.option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def flags_of(methods: Methods) -> dict[str, Flag]:
    """The flags of all methods by option name; those of single methods come first."""
    by_option: dict[str, dict[str, Option]] = {}
    for method, options in methods.items():
        for option in options:
            by_option.setdefault(option.name, {})[method] = option
    flags = {name: Flag(options, len(options) == len(methods)) for name, options in by_option.items()}
    return dict(sorted(flags.items(), key=lambda item: item[1].shared))


def takes(methods: Methods, of: str = "method") -> Callable[[Command], Command]:
    """Give a command the flags of these methods in place of its `**flags`; `of` is what a method is called."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        first, last = [], []
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                last.append(parameter)
            elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                first.append(parameter)
        parameters = [*first, *(flag.parameter(of) for flag in flags_of(methods).values()), *last]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def given(flags: Mapping[str, Any], method: str, methods: Methods, of: str = "method") -> dict[str, Any]:
    """The options given on the command line, validated; raises an error for an option of another method."""
    if method not in methods:
        raise OptionError(f"--{of} {method}: choose {', '.join(methods)}")
    all_flags = flags_of(methods)
    values = {}
    for name, value in flags.items():
        if value is None:
            continue
        option = all_flags[name].takers.get(method)
        if option is None:
            others = either(tuple(all_flags[name].takers))
            raise OptionError(f"{all_flags[name].option.flag} is for {others}, not for {method}")
        values[name] = option.parse(value) if isinstance(value, str) else value
        option.check(values[name], option.flag)
    return values
