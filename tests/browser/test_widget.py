"""The JavaScript of the widget in a real browser: a host page plays the notebook, the kernel's side is real."""

import base64
import json
import threading

import pytest

import headatlas as ha
from support.browser import until
from support.pages import looking
from support.walking import accessible, sentence

HOST = '<!doctype html><html lang="en"><meta charset="utf-8"><title>A notebook</title><body><div id="cell"></div>'
# what a notebook gives to a widget: synchronized values, and messages in both directions
PLAY = """async ({ source, values }) => {
  const handlers = new Set();
  window.sent = [];
  const model = {
    get: (name) => values[name],
    on: (kind, handler) => kind === "msg:custom" && handlers.add(handler),
    off: (kind, handler) => handlers.delete(handler),
    send: async (message) => {
      window.sent.push(message);
      const answer = await window.kernel(JSON.stringify(message));
      if (!answer) return;
      const bytes = Uint8Array.from("..." + atob(answer.body), (letter) => letter.charCodeAt(0)); // not at the start
      for (const handler of handlers) handler(answer.message, [new DataView(bytes.buffer, 3)]);
    },
  };
  window.handlers = handlers;
  const module = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  window.stop = module.default.render({ model, el: document.getElementById("cell") });
}"""


@pytest.fixture(scope="module")
def widget(demo):
    page = ha.web.widget(demo, height=640)
    yield page
    page.close()


def kernel(widget):
    """Answers messages as the kernel does: a custom message of the widget, and what the widget sends."""

    def answer(message):
        replies, arrived = [], threading.Event()

        def send(message, buffers):
            replies.append({"message": message, "body": base64.b64encode(buffers[0]).decode()})
            arrived.set()

        widget.send = send
        content = json.loads(message)
        widget._handle_custom_msg(content, [])
        if content.get("cancel"):
            return None
        assert arrived.wait(120)
        return replies[0]

    return answer


def test_a_cell_shows_the_whole_page_without_a_port(browser, widget):
    with looking(browser) as page:
        requests = []
        page.on("request", lambda request: request.url.startswith("blob:") or requests.append(request.url))
        page.context.set_offline(True)
        page.expose_function("kernel", kernel(widget))
        page.set_content(HOST)
        values = {name: getattr(widget, name) for name in ("page", "height", "sandbox")}
        page.evaluate(PLAY, {"source": widget._esm, "values": values})
        frame = page.frames[1]
        frame.wait_for_selector("h1")
        sentence(frame, "10,080 maps")
        accessible(page)
        assert page.locator("iframe").bounding_box()["height"] == 640

        frame.get_by_role("link", name="Maps", exact=True).click()  # what a single file does not hold
        sentence(frame, "maps")
        until(frame, "document.querySelector('canvas[role=application]') && !document.querySelector('[data-problem]')")

        frame.get_by_role("link", name="Examples", exact=True).click()
        frame.get_by_role("textbox", name="Text", exact=True).fill("The cat sat on the mat.")
        frame.get_by_role("button", name="Show its maps").click()
        until(frame, "document.querySelector('[data-testid=arcs]') !== null", 120)
        methods = page.evaluate("[...new Set(window.sent.map(message => message.method))]")
        assert set(methods) >= {"GET", "POST"} and requests == []

        page.evaluate("document.querySelector('iframe').contentWindow.postMessage({ headatlas: { id: 1 } }, '*')")
        count = page.evaluate("window.sent.length")
        page.evaluate("postMessage({ headatlas: { id: 1, path: 'api/atlas.json', method: 'GET' } }, '*')")
        page.wait_for_timeout(200)
        assert page.evaluate("window.sent.length") == count  # only the frame is listened to
        page.evaluate("window.stop()")
        assert page.evaluate("window.handlers.size") == 0


def test_errors_of_the_kernel_are_shown(browser, widget):
    with looking(browser) as page:
        page.expose_function("kernel", kernel(widget))
        page.set_content(HOST)
        values = {"page": widget.page.replace("#/overview", "#/examples/3"), "height": 400, "sandbox": widget.sandbox}
        broken = widget._esm.replace("model.send({ view, id, path,", 'model.send({ view, id, path: "api/no",')
        page.evaluate(PLAY, {"source": broken, "values": values})
        frame = page.frames[1]
        frame.wait_for_selector("[data-problem]")
        assert "There is no such page." in frame.locator("main").inner_text()
