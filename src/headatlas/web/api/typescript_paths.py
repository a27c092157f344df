"""The generated `paths.ts`: a typed function per endpoint that builds its address."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, get_args, get_origin

from headatlas.web.api.endpoints import ENDPOINTS, JSON, PARAMETERS, PREFIX, TEXT, Endpoint, parameters
from headatlas.web.api.payloads.tsne import VARIANTS

PATHS = """\
// Generated from src/headatlas/web/api/endpoints.py. Do not edit.
import type {{ components }} from "./schema";

type Schemas = components["schemas"];

/** An address, relative to the page, that carries the type of its response. Only `paths` makes them. */
export type Path<Response> = string & {{ readonly response: Response }};

/** An example of the atlas, or a custom text. */
export type Text = {text_type};
const text = (id: Text) => {text};

/** The variants of head t-SNE. */
export const VARIANTS = {variants} as const;
export type Variant = keyof typeof VARIANTS;

export const PREFIX = {prefix};
export const paths = {{
{paths}
}};
"""


def paths_ts() -> str:
    """A typed function per endpoint that builds its address, such as `paths.means({ clustering })`."""
    types = [f"{{ {parameter}: {_type(parameter)} }}" for parameter, _ in _texts()]
    conditions = [f'"{parameter}" in id ? {_template(text, "id")}' for parameter, text in _texts()[1:]]
    return PATHS.format(
        text_type=" | ".join(types),
        text=" : ".join([*conditions, _template(TEXT[0], "id")]),
        variants=_json({name: variant._asdict() for name, variant in VARIANTS.items()}),
        prefix=_json(PREFIX),
        paths="\n".join(_function(endpoint) for endpoint in ENDPOINTS),
    )


def _texts() -> list[tuple[str, str]]:
    """The parameter and the template of each kind of text."""
    return [(parameters(text)[0], text) for text in TEXT]


def _function(endpoint: Endpoint) -> str:
    names = parameters(endpoint.template)
    fields = "; ".join(f"{name}: {_type(name)}" for name in names if name != "text")
    types = [*(["Text"] if "text" in names else []), *([f"{{ {fields} }}"] if fields else [])]
    argument = f"at: {' & '.join(types)}" if types else ""
    address = _template(PREFIX + endpoint.template, "at")
    lines = [f"  /** {endpoint.doc} */", f"  {_camel(endpoint.name)}: ({argument}) =>"]
    return "\n".join([*lines, f"    {address} as {_path_type(endpoint)},"])


def _path_type(endpoint: Endpoint) -> str:
    if endpoint.media == JSON:
        return f'Path<Schemas["{endpoint.payload.__name__}"]>' if endpoint.payload else "Path<unknown>"
    return "Path<Uint16Array>" if endpoint.template.endswith(".bin") else "Path<Blob>"


def _template(template: str, argument: str) -> str:
    """A template literal that fills in the fields of an argument.

    >>> _template("examples/{example}.json", "at"), _template("try.json", "at")
    ('`examples/${at.example}.json`', '"try.json"')
    """

    def field(match: re.Match[str]) -> str:
        name = match.group(1)
        if name == "text":
            return f"${{text({argument})}}"
        value = f"{argument}.{name}"
        return f"${{encodeURIComponent({value})}}" if _type(name) == "string" else f"${{{value}}}"

    filled = re.sub(r"{(\w+)}", field, template)
    return f"`{filled}`" if filled != template else _json(template)


def _type(parameter: str) -> str:
    """The TypeScript type of a parameter."""
    annotation = PARAMETERS[parameter]
    if parameter == "variant":
        return "Variant"
    if get_origin(annotation) is Literal:
        return " | ".join(_json(value) for value in get_args(annotation))
    return "number" if annotation is int else "string"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
