"""Files of finished results against the checksums in their manifests: sizes first, each digest once per process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from headatlas.atlas.files import Files

MANIFESTS = "manifests"
BLOCK = "block-"  # manifests of blocks: arrays check their own blocks when they are read
FACTS = ("size", "mtime", "created", "LastModified", "ETag")  # that change when a file is written

_verified: set[tuple[str, ...]] = set()  # files whose digest was computed by this process, with their facts


@dataclass(frozen=True, slots=True)
class Checksum:
    """What a manifest says of a file; the size is None in manifests of older versions."""

    digest: str
    size: int | None = None


def manifest_folder(stage: str, folder: str) -> str:
    """The folder of the manifests of a result."""
    return f"{MANIFESTS}/{stage}/{folder}".rstrip("/")


def read_manifest(content: bytes) -> dict[str, Any]:
    """A manifest; ValueError if it is damaged."""
    manifest = json.loads(content)
    names = ("files", "facts")
    if not isinstance(manifest, dict) or not all(isinstance(manifest.get(name), dict) for name in names):
        raise ValueError("it is no manifest")
    return manifest


def checksums_of(manifest: dict[str, Any]) -> dict[str, Checksum]:
    """The checksums of the files of a piece of work."""
    sizes = manifest.get("sizes")
    sizes = sizes if isinstance(sizes, dict) else {}
    return {name: Checksum(digest, sizes.get(name)) for name, digest in manifest["files"].items()}


def recorded(files: Files, folder: str) -> dict[str, Checksum]:
    """The checksums of the tables, files and metadata of a result; those in damaged manifests are left out."""
    checksums: dict[str, Checksum] = {}
    for name in files.names(folder):
        if name.endswith(".json") and not name.startswith(BLOCK):
            try:
                checksums |= checksums_of(read_manifest(files.find(f"{folder}/{name}") or b""))
            except (ValueError, RecursionError):
                continue
    return checksums


def fault(files: Files, name: str, expected: Checksum) -> str | None:
    """What is wrong with a file, or None."""
    info = files.info(name)
    if info is None:
        return "is missing"
    if expected.size is not None and info["size"] != expected.size:
        return f"has {info['size']:,} bytes instead of {expected.size:,}"
    key = (files.url, name, expected.digest, *(str(info.get(fact)) for fact in FACTS))
    if key not in _verified:
        if files.digest(name) != expected.digest:
            return "does not match its checksum"
        _verified.add(key)
    return None
