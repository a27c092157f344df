"""Access to the server: who is let in, what is never sent, and that no request breaks it."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

import headatlas as ha
from headatlas.errors import OptionError
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.server import access, serve
from support import served
from support.children import listening
from support.served import NASTY, error

TOKEN = "correcthorse1234"
SECRET = "this must not be sent"


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """A built page, with a file outside and a link that leads to it."""
    root = tmp_path_factory.mktemp("web")
    folder = root / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>" + " " * 2000)
    (folder / "assets" / "main-1a2b.js").write_text("export {};" + " " * 2000)
    (folder / ".stamp").write_text(SECRET)
    (folder / "notes.py").write_text(SECRET)
    (root / "secret.txt").write_text(SECRET)
    (folder / "link.txt").symlink_to(root / "secret.txt")
    (folder / "out").symlink_to(root)
    return folder


@pytest.fixture(scope="module")
def client(static):
    return served.client(served.full(), static=static)


def test_the_page_and_its_assets(client):
    page = client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-cache" and page.headers["content-encoding"] == "gzip"
    assert client.get("/", headers={"if-none-match": page.headers["etag"]}).status_code == 304
    asset = client.get("/assets/main-1a2b.js")
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asset.headers["content-type"].startswith("text/javascript")
    assert client.head("/").status_code == 200 and client.head("/").content == b""


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/assets/../../secret.txt", "/%2e%2e%2fsecret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt", "/..%5csecret.txt", "//etc/passwd", "/%2fetc/passwd", "/link.txt",
        "/out/secret.txt", "/.stamp", "/notes.py", "/assets", "/assets/", "/index.html%00.txt", "/C:/secret.txt",
        "/api/../secret.txt", "/api/columns/..%2f..%2fatlas.json.bin", "/atlas.json", "/api/examples/..%2fatlas.json",
    ],
)  # fmt: skip
def test_nothing_outside_the_page_is_sent(client, static, path):
    response = client.get(path)
    assert response.status_code in (404, 422) and SECRET not in response.text and "root:" not in response.text
    assert set(response.json()) == {"error"}


def test_unnormalized_paths_are_refused(static):
    """A client may normalize a path before it sends it; a bare socket does not."""
    page = serve.BackgroundServer(served.bare())
    port = int(page.url.rpartition(":")[2].strip("/"))
    try:
        for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fsite.py", "/../site.py"):
            with socket.create_connection(("127.0.0.1", port)) as line:
                line.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
                response = b"".join(iter(lambda line=line: line.recv(65536), b"")).decode()
            assert response.startswith("HTTP/1.1 404") and "root:" not in response and "import" not in response
    finally:
        page.close()


def test_every_response_has_the_security_headers(client):
    paths = ["/", "/assets/main-1a2b.js", "/api/atlas.json", "/api/heads/maps.bin", "/nothing", "/api/examples/x.json"]
    for response in [*map(client.get, paths), client.post("/"), client.get("/", headers={"host": "evil.example"})]:
        for name, value in access.HEADERS.items():
            assert response.headers[name] == value
    policy = dict(part.split(" ", 1) for part in access.POLICY.split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
    assert "unsafe" not in access.POLICY
    assert policy["frame-ancestors"] == "'self' http://127.0.0.1:* http://localhost:*"
    assert "access-control-allow-origin" not in client.get("/api/atlas.json", headers={"origin": "http://a.b"}).headers


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]:8765", "[::1]"])
def test_a_host_name_of_this_machine_is_accepted(client, host):
    assert client.get("/api/heads.json", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8765", "", "localhost.", "["])
def test_another_host_name_is_refused(client, host):
    error(client.get("/api/atlas.json", headers={"host": host}), 421)
    error(client.get("/", headers={"host": host}), 421)


def test_requests_must_be_json_from_the_page_itself(client):
    body = {"text": "hello"}
    error(client.post("/api/try.json", data=body), 415)
    error(client.post("/api/try.json", content=b'{"text":"x"}', headers={"content-type": "text/plain"}), 415)
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:9"},
                    {"sec-fetch-site": "cross-site"}):  # fmt: skip
        error(client.post("/api/try.json", json=body, headers=headers), 403)
    error(client.post("/api/try.json", json=body, headers={"origin": "http://127.0.0.1"}), 404)  # no model, but let in
    assert error(client.post("/api/try.json", json=body | {"more": 1}), 422)["message"]
    error(client.post("/api/try.json", content=b"{", headers={"content-type": "application/json"}), 422)


ELSEWHERE = (
    {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://evil.example"},
    {"origin": "null"}, {"origin": "http://127.0.0.1:9"}, {"origin": "http://["},
    {"origin": "http://127.0.0.1", "sec-fetch-site": "cross-site"},
)  # fmt: skip
OURS = ({}, {"sec-fetch-site": "none"}, {"sec-fetch-site": "same-origin"}, {"origin": "http://127.0.0.1"})
VALUES = {
    "example": 0, "key": "0" * 32, "layer": 0, "head": 0, "variant": "tsne", "layouts": "heads", "projection": "pca",
    "column": "topic", "clustering": "kmeans", "cluster": 0,
    "embedding": "pca", "measure": "trust", "point": 0, "table": "probe_surface", "comparison": "tuned",
    "step": 1, "model": 0, "place": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    "address", [template for endpoint in ENDPOINTS for template in endpoint.templates if not endpoint.body]
)
def test_only_the_page_itself_can_start_a_computation(client, address):
    """Whatever needs the model is refused to other sites; files of the atlas are sent, but unreadable to these."""
    live = any(endpoint.live for endpoint in ENDPOINTS if address in endpoint.templates)
    path = "/" + address.format_map(VALUES)
    statuses = {client.get(path, headers=headers).status_code for headers in OURS}
    assert 403 not in statuses
    for headers in ELSEWHERE:
        response = client.get(path, headers=headers)
        assert {response.status_code} == ({403} if live else statuses)
        if live:
            assert "Only the page" in error(response, 403)["message"]


def test_other_sites_do_not_warm_up_the_model(monkeypatch):
    client, calls = served.client(served.full()), []
    state = client.app.state
    live = replace(state.responses.watcher.snapshot(), live=True)
    monkeypatch.setattr(state.responses.watcher, "snapshot", lambda: live)
    monkeypatch.setattr(state.runner, "warm_up", lambda: calls.append(1))
    for headers in ELSEWHERE:
        assert client.get("/api/examples/0.json", headers=headers).status_code == 200
    assert not calls
    assert client.get("/api/examples/0.json").status_code == 200 and calls


def test_large_requests_are_refused(client):
    error(client.post("/api/try.json", json={"text": "a" * 20_001}), 413)
    error(client.post("/api/try.json", json={"text": "a" * (2 << 20)}), 413)
    chunks = (b'{"text":"' if number == 0 else b"a" * 65536 for number in range(40))  # no length is declared
    error(client.post("/api/try.json", content=chunks, headers={"content-type": "application/json"}), 413)
    error(client.get("/api/columns/" + "x" * 3000 + ".bin"), 414)
    error(client.get("/api/atlas.json?" + "x" * 3000), 414)


def test_errors_of_other_methods_and_paths_have_one_shape(client):
    assert "GET" in client.put("/api/atlas.json", json={}).headers["allow"]
    error(client.put("/api/atlas.json", json={}), 405)
    error(client.delete("/api/atlas.json", headers={"content-type": "application/json"}), 405)
    error(client.get("/api/try.json"), 404)
    for path in ("/docs", "/redoc", "/openapi.json"):
        error(client.get(path), 404)


def test_markup_in_the_data_is_sent_as_json_text_only(client):
    for path in ("examples.json", "examples/2.json", "atlas.json"):
        response = client.get(f"/api/{path}")
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert NASTY in response.text


def test_a_token_is_required_if_one_is_set(static):
    client = served.client(served.full(), static=static, token=TOKEN, hosts=None)
    for path in ("/", "/api/atlas.json", "/assets/main-1a2b.js", "/?token=wrong", "/api/openapi.json"):
        problem = error(client.get(path, headers={"host": "any.example"}), 401)
        assert TOKEN not in str(problem)
    assert client.get("/api/heads.json", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    error(client.get("/api/heads.json", headers={"authorization": f"Bearer {TOKEN}x"}), 401)
    error(client.get("/api/heads.json", headers={"cookie": "headatlas_00=x; bad=\x7f"}), 401)
    sent = client.get(f"/?token={TOKEN}&x=1", follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, "/?x=1")
    cookie = sent.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
    assert client.get("/api/heads.json").status_code == 200  # the client keeps its cookies
    outside = client.get(f"//evil.example/%2e?token={TOKEN}", follow_redirects=False)
    assert outside.headers.get("location", "/").startswith("/") and "//" not in outside.headers.get("location", "/")


@pytest.mark.parametrize(
    ("host", "token", "hosts"),
    [
        ("127.0.0.1", None, access.LOOPBACK), ("localhost", None, access.LOOPBACK), ("::1", TOKEN, access.LOOPBACK),
        ("0.0.0.0", TOKEN, None), ("10.0.0.7", TOKEN, (*access.LOOPBACK, "10.0.0.7")),
        ("fe80::1", TOKEN, (*access.LOOPBACK, "[fe80::1]")),
    ],
)  # fmt: skip
def test_host_names_that_are_allowed(host, token, hosts):
    assert serve.allowed(host, token) == hosts


@pytest.mark.parametrize(
    ("host", "token"), [("0.0.0.0", None), ("10.0.0.7", None), ("127.0.0.1", "short"), ("::", "a b c d e f")]
)
def test_other_addresses_need_a_token(host, token):
    with pytest.raises(OptionError, match="token"):
        serve.serve(served.bare(), host=host, token=token, browser=False)


def test_internal_errors_reveal_nothing(client, monkeypatch, caplog):
    from headatlas.web.views import cards

    def broken(view):
        raise RuntimeError("password 123")

    monkeypatch.setattr(cards, "heads", broken)
    fresh = served.client(served.full())
    assert "123" not in str(error(fresh.get("/api/heads.json"), 500))
    assert "password 123" in caplog.text


def test_no_request_generated_from_the_schema_breaks_the_server():
    """Requests generated from the schema, valid and invalid: never a 5xx, and every response has its declared shape."""
    import schemathesis
    from hypothesis import HealthCheck, given, settings
    from schemathesis import checks
    from schemathesis.generation import GenerationMode

    app = served.client(served.full(), hosts=None).app
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    required = [checks.not_a_server_error, *(checks.CHECKS.get_by_names(["response_schema_conformance",
              "content_type_conformance", "status_code_conformance"]))]  # fmt: skip
    statuses = []

    def ask(case):
        response = case.call()
        statuses.append(response.status_code)
        case.validate_response(response, checks=required)
        if response.status_code >= 400:
            assert set(response.json()) == {"error"}

    few = settings(
        max_examples=5, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    for operation in schema.get_all_operations():
        for mode in GenerationMode:
            try:
                cases = operation.ok().as_strategy(generation_mode=mode)
                few(given(case=cases)(ask))()
            except Exception as problem:
                if "Unsatisfiable" not in type(problem).__name__:  # a path without parameters cannot be invalid
                    raise
    assert len(statuses) > 100 and 200 in statuses and {404, 422} & {*statuses}


def test_the_command_takes_the_next_port_and_stops_cleanly():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "headatlas",
            "serve",
            served.bare().files.url,
            "--no-open",
            "--port",
            str(port),
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=listening
        ) as process:  # fmt: skip
            address = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address) and f":{port}/" not in address
            with urllib.request.urlopen(f"{address}api/atlas.json", timeout=20) as response:
                assert b'"bare.atlas"' in response.read()
            process.send_signal(signal.SIGINT)
            messages = process.stderr.read()
            assert process.wait(20) == 0
    assert (
        f"port {port} is in use: using " in messages
        and messages.strip().endswith("stopped")
        and "Traceback" not in messages
    )


def test_a_notebook_shows_the_page_and_closes_it():
    page, other = ha.web.open(served.bare().files.url), ha.web.open(served.full())
    shown = page._repr_html_()
    assert page.url != other.url and f'src="{page.url}"' in shown and 'height="900"' in shown and "<a href" in shown
    with urllib.request.urlopen(page.url, timeout=20) as response:
        assert b"<!doctype html>" in response.read()
    other.close()
    page.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(page.url, timeout=2)


def test_without_a_built_page_the_response_says_how_to_build_it(tmp_path):
    for static in (None, tmp_path, Path("nowhere")):
        page = served.client(served.bare(), static=static).get("/")
        assert page.status_code == 200 and "pip install" in page.text and "style=" not in page.text
