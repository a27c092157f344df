"""Small files for the tests of the readers, in the folder a test runs in."""

from pathlib import Path

from PIL import Image

from headatlas.data import load


def write(name, content):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def texts(spec, **options):
    return [(example.id, example.text) for example in load(spec, **options)]


def picture(name, size=(8, 8)):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, "red").save(name)
