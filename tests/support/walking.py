"""What a walk through the page does in every tab."""

from __future__ import annotations

import json
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe

from support.browser import until

# The pixels of a canvas, read from a copy: reading the same canvas often makes the browser warn.
PIXELS = """(canvas => { const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
  copy.drawImage(canvas, 0, 0);
  return new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer); })"""
SERIOUS = ("serious", "critical")


def sentence(page, *parts):
    """Wait for the sentence of a tab that includes these parts, and return it."""
    condition = " && ".join(["text", *(f"text.includes({json.dumps(part)})" for part in parts)])
    return until(page, f"(text => {condition} ? text : null)(document.querySelector('h1').textContent.trim())")


def accessible(page):
    """axe finds nothing serious. It runs in an isolated world, to which the policy of the page does not apply."""
    violations = Axe().run(page).response["violations"]
    problems = [
        (violation["id"], [node["html"][:200] for node in violation["nodes"][:3]])
        for violation in violations
        if violation["impact"] in SERIOUS
    ]
    assert not problems, problems


def settled(page):
    """Wait until everything is loaded: nothing is a placeholder, and nothing shows what was there before."""
    page.wait_for_load_state("networkidle")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    until(page, "document.querySelectorAll('.skeleton, [aria-busy=true]').length === 0")


def saved(page, action):
    """The name and content of the file that an action downloads."""
    with page.expect_download() as waiting:
        action()
    path = Path(waiting.value.path())
    return waiting.value.suggested_filename, path.read_bytes()


def export_as(page, section, kind):
    section.get_by_role("button", name="Export").click()
    return saved(page, lambda: page.get_by_role("menuitem", name=kind).click())


def lasso(page):
    """Draw around the middle of the picture."""
    box = page.locator("canvas[role=application]").bounding_box()
    x, y, w, h = box["x"], box["y"], box["width"], box["height"]
    page.keyboard.down("Shift")
    page.mouse.move(x + 0.35 * w, y + 0.3 * h)
    page.mouse.down()
    for dx, dy in ((0.7, 0.3), (0.7, 0.7), (0.35, 0.7), (0.35, 0.32)):
        page.mouse.move(x + dx * w, y + dy * h, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
