"""Generated TypeScript: declarations in Python that the page needs too.

    python -m headatlas.web.api.typescript frontend

writes `src/generated/` in the folder `frontend`. Needs FastAPI and pydantic only; the last file, `schema.ts`, is made
by npm from the OpenAPI schema.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from headatlas.web.api import encoding, openapi
from headatlas.web.api.typescript_paths import paths_ts
from headatlas.web.api.typescript_statistics import statistics_ts
from headatlas.wording.thresholds import WORDS


def encoding_ts() -> str:
    """The special values of u16 buffers."""
    lines = ["// Generated from src/headatlas/web/api/encoding.py. Do not edit."]
    for name, meaning in encoding.MEANINGS.items():
        lines += ["", f"/** {meaning} */", f"export const {name} = {getattr(encoding, name)};"]
    return "\n".join([*lines, ""])


def thresholds_ts() -> str:
    """The values from which on the page uses a word."""
    lines = [f"export const {name} = {value};" for name, value in WORDS.items()]
    return "\n".join(["// Generated from src/headatlas/wording/thresholds.py. Do not edit.", *lines, ""])


GENERATED = {
    "paths.ts": paths_ts,
    "encoding.ts": encoding_ts,
    "statistics.ts": statistics_ts,
    "thresholds.ts": thresholds_ts,
}


def write(folder: Path) -> None:
    """Write all generated files; a file that would not change is not touched, so that nothing is rebuilt for it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in GENERATED.items():
        write_changed(folder / name, content())


def write_changed(file: Path, content: str) -> None:
    """Write a file, unless it has this content already."""
    if not file.is_file() or file.read_text(encoding="utf-8") != content:
        file.write_text(content, encoding="utf-8")


def generate(frontend: Path) -> None:
    """Write the OpenAPI schema and all generated files but `schema.ts`."""
    write_changed(frontend / "openapi.json", openapi.text())
    write(frontend / "src" / "generated")


def main(frontend: str) -> None:
    """Write all generated files."""
    generate(Path(frontend))
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm was not found: run `npm run types` in the folder of the page to write schema.ts")
    subprocess.run([npm, "run", "types"], cwd=frontend, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
