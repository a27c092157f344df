"""The page as a widget: requests as messages get the responses of the server, also from a real kernel."""

import json
import re
import sys
import threading
import time
from queue import Empty

import pytest
from jupyter_client.manager import start_new_kernel

import headatlas as ha
from headatlas.errors import HeadatlasError
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.live.requests import LocalApp
from headatlas.web.server.static_files import BUILT
from support import served

needs_page = pytest.mark.skipif(not (BUILT / "single" / "page.js").exists(), reason="the page was not built")


@pytest.fixture(scope="module")
def app():
    local = LocalApp(served.full())
    yield local
    local.close()


def asked(app, path, method="GET", body=None, seconds=120):
    """Status and body of a response."""
    answer, arrived = [], threading.Event()
    app.request(method, path, body, lambda *parts: (answer.extend(parts), arrived.set()))
    assert arrived.wait(seconds), path
    return tuple(answer)


def test_responses_are_those_of_the_server(app):
    client = served.client(served.full())
    for path in (
        ENDPOINTS.atlas.path(), ENDPOINTS.heads.path(), ENDPOINTS.head_maps.path(),
        ENDPOINTS.column.path(column="cluster.kmeans"), ENDPOINTS.clusters.path(clustering="loose.one"),
        ENDPOINTS.pooled_map.path(example=3, layer=1, head=2),
    ):  # fmt: skip
        response = client.get(f"/{path}")
        assert asked(app, path) == (response.status_code, response.content), path
        assert response.status_code == 200, path


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "api/examples/99.json", None, 404),
        ("GET", "api/examples/x.json", None, 422),
        ("GET", "api/examples/0/full/0.0.bin", None, 404),  # there is no model
        ("GET", "../../etc/passwd", None, 404),
        ("GET", "api/try.json", None, 404),
        ("POST", "api/atlas.json", "{}", 405),
        ("POST", "api/try.json", "no JSON", 422),
        ("POST", "api/try.json", json.dumps({"text": "x" * 30_000}), 413),
        ("GET", "api/" + "x" * 3000, None, 414),
    ],
)
def test_errors_are_those_of_the_server(app, method, path, body, status):
    code, content = asked(app, path, method, body)
    error = json.loads(content)["error"]
    assert code == status == error["status"] and error["message"]
    headers = {"content-type": "application/json"} if body else {}
    assert served.client(served.full()).request(method, f"/{path}", content=body, headers=headers).json() == {
        "error": error
    }


def test_custom_texts_and_full_maps_are_computed():
    app = LocalApp(served.real())
    try:
        status, content = asked(app, ENDPOINTS.custom_text.path(), "POST", json.dumps({"text": "The cat sat."}))
        key = json.loads(content)["key"]
        status, values = asked(app, ENDPOINTS.full_map.path(key=key, layer=0, head=2))
        assert status == 200 and len(values) == 2 * 6 * 6
    finally:
        app.close()


def test_a_request_is_canceled_when_the_page_leaves():
    app = LocalApp(served.real())
    try:
        answers = []
        path = ENDPOINTS.tsne.path(example=0, variant="tsne")
        cancel = app.request("GET", path, None, lambda *parts: answers.append(parts))
        jobs = app._app.state.runner.jobs
        _until(lambda: jobs.unfinished())
        (job,) = jobs.unfinished()
        cancel()
        _until(lambda: job.canceled.is_set())
        _until(lambda: not jobs.unfinished(), 60)
        assert answers == []
    finally:
        app.close()


def _until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@needs_page
def test_a_widget_answers_messages_and_ignores_others():
    widget = ha.web.widget(served.full(), height=500)
    try:
        sent, arrived = [], threading.Event()
        widget.send = lambda message, buffers=None: (sent.append((message, bytes(buffers[0]))), arrived.set())
        for message in ("text", {}, {"id": "1"}, {"id": 1, "path": 3, "method": "GET"}, {"id": 9, "cancel": True},
                        {"id": 2, "path": "api/atlas.json", "method": "DELETE", "body": None}):  # fmt: skip
            widget._handle_custom_msg(message, [])
        widget._handle_custom_msg({"view": "a", "id": 7, "path": "api/heads.json", "method": "GET", "body": None}, [])
        assert arrived.wait(30)
        ((message, body),) = sent
        assert message == {"view": "a", "id": 7, "status": 200} and len(json.loads(body)["heads"]) == 12
        assert widget._running == {} and widget.height == 500 and '"live":true' in widget.page
        assert repr(widget) == f"<PageWidget of {served.full().files.url}>"
    finally:
        widget.close()


def test_without_anywidget_the_error_says_what_to_install(monkeypatch):
    for name in ("anywidget", "headatlas.web.live.widget"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(HeadatlasError, match=re.escape("Run: pip install 'headatlas[notebook]'")):
        ha.web.widget(served.full())


@needs_page
def test_a_kernel_answers_over_its_own_messages():
    """What a browser does: open the widget's channel, send a custom message, get a message with a buffer."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        code = f"import headatlas as ha\npage = ha.web.widget({served.full().files.url!r})\npage"
        client.execute(code)
        opened = _message(client, lambda m: m["msg_type"] == "comm_open" and "page" in m["content"]["data"]["state"])
        shown = _message(client, lambda m: m["msg_type"] in ("display_data", "execute_result", "error", "stream"))
        assert "application/vnd.jupyter.widget-view+json" in shown["content"]["data"]
        request = {"view": "v", "id": 1, "path": "api/heads/maps.bin", "method": "GET", "body": None}
        content = {"comm_id": opened["content"]["comm_id"], "data": {"method": "custom", "content": request}}
        client.shell_channel.send(client.session.msg("comm_msg", content))
        reply = _message(client, lambda m: m["msg_type"] == "comm_msg" and m["content"]["data"]["method"] == "custom")
        assert reply["content"]["data"]["content"] == {"view": "v", "id": 1, "status": 200}
        (body,) = reply["buffers"]
        assert bytes(body) == served.client(served.full()).get("/api/heads/maps.bin").content
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _message(client, wanted, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            message = client.get_iopub_msg(timeout=1)
        except Empty:
            continue
        if wanted(message):
            return message
    raise TimeoutError("the kernel did not send this message")
