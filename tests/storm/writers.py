"""A storm of writers: several commands at once on one atlas, and readers meanwhile.

Each command ends with success or with one clear line, nothing that was finished is lost, and a reader sees a result as
it was before or as it is after. What the engine published is recorded in the order of its lock: afterwards the atlas
must hold exactly that.
"""

import json
import mmap
import random
import re
import sys
import time
from functools import partial

import headatlas as ha
from headatlas.atlas import engine, schema
from headatlas.errors import HeadatlasError
from storm import reading
from storm.children import BROKEN, Child, command, run
from storm.counting import LOST, REFUSED, TRACEBACK, WITHOUT, WRONG, Report
from storm.scene import COLLECT, MORE, NEW

OTHER = "collect {model} {texts} -o x.atlas --resolution 4 --qk-tokens 40"
CLUSTERS = ["cluster", "cluster again", "cluster again, five", "tree"]
READERS = ["correlate again", "project", "project again", "null again", "features again", "tree", "sweep", "export"]
WRITERS = [name for name in MORE if name != "export"]
TIDY = (".partial", ".lock")
FRIENDLY = {200, 304, 404, 410, 422, 503}  # what the server may answer while the atlas changes


def rounds(rng):
    """The commands of a round."""
    several = rng.randint(2, 4)
    kind = rng.choice(["same", "again", "replaced", "collect", "anything", "anything"])
    if kind == "same":
        return [rng.choice(WRITERS)] * several
    if kind == "again":
        return [rng.choice(CLUSTERS) for _ in range(several)]
    if kind == "replaced":
        return [
            rng.choice(["cluster again", "cluster again, five", "features again"]),
            *rng.sample(READERS, several - 1),
        ]
    if kind == "collect":
        return [rng.choice(["collect", "collect", "other"]) for _ in range(several)]
    return rng.sample(WRITERS, several)


def storm(scene, seed, numbers):
    """Run rounds of commands at once; one outcome per round."""
    report, seen = Report(), {}
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        names = rounds(rng)
        where = f"seed {seed}, round {number}, {' + '.join(names)}"
        report.add(*_round(scene, rng, names, where, seen, report.lines))
    return report


def _round(scene, rng, names, where, seen, lines):
    work, ended_flag = scene.fresh(names[0] if names[0] in MORE else "collect"), mmap.mmap(-1, 1)
    before = _entries(work)
    arguments = [scene.arguments((NEW | MORE | {"other": OTHER})[name]) for name in names]
    pauses = [rng.choice([0, 0, rng.random() * 0.4]) for _ in names]
    writers = [Child(partial(_recorded, pause), line, work) for pause, line in zip(pauses, arguments, strict=True)]
    companion = Child(partial(rng.choice([_look, _serve, _ask]), ended_flag), (), work)
    ended = [writer.wait() for writer in writers]
    ended_flag[0] = 1
    watched = companion.wait()
    for end in (*ended, watched):
        if end.has_traceback or (end.status and end.line is None):
            return TRACEBACK, where, str(end)
    if "damaged" in watched.err:
        return WRONG, where, f"read as damaged: {watched.err[-2000:]}"
    refused = [end for end in ended if end.status]
    for end in refused:
        lines[re.sub(r"\d[\d:T.+-]*", "#", end.line)[:160]] += 1
    problem = _missing(work, before, ended) or _mixture(work, watched, seen)
    if problem:
        return (LOST if "missing" in problem else WRONG), where, problem
    return _again(scene, work, refused, where) or (REFUSED if refused else WITHOUT, where, "")


def _again(scene, work, refused, where):
    """Run what was refused again, alone, then what changes nothing: nothing is left over; None if all is well."""
    for end in [*refused, *(run(line, work) for line in (scene.arguments(COLLECT), ["check", "x.atlas"]))]:
        last = run(end.arguments, work) if end in refused else end
        if last.has_traceback or (last.status and last.line is None):
            return TRACEBACK, where, f"alone: {last}"
        if last.status and end not in refused and "another collection" not in last.line:
            return LOST, where, f"alone: {last}"
    left = [str(path) for path in work.rglob("*") if path.suffix in TIDY]
    listed = {name for names in _entries(work).values() for name in names}
    left += [place.folder for place in engine._unlisted(ha.open(work / "x.atlas"))]
    return (WRONG, where, f"left over: {left[:5]}; results: {listed}") if left else None


def _entries(work):
    """The finished results of each stage: NAME/KEY."""
    if not (work / "x.atlas/atlas.json").exists():
        return {}
    results = json.loads((work / "x.atlas/atlas.json").read_text())["results"]
    return {stage: {f"{e['name']}/{e['key']}" for e in entries if e["done"]} for stage, entries in results.items()}


# writers


def _recorded(pause, *arguments):
    """A command that records on stderr what it published and what this replaced."""
    publish = engine._publish

    def recording(atlas, place, *rest):
        dropped = publish(atlas, place, *rest)
        old = [[other.stage, f"{other.name}/{other.key}"] for other, _ in dropped]
        event = {"at": time.monotonic_ns(), "new": [place.stage, f"{place.name}/{place.key}"], "old": old}
        sys.stderr.write(f"\nPUBLISHED {json.dumps(event)}\n")
        return dropped

    engine._publish = recording
    time.sleep(pause)
    return command(*arguments)


def _missing(work, before, ended):
    """What should be in the atlas, but is not, or the other way round."""
    expected = {(stage, name) for stage, names in before.items() for name in names}
    for event in sorted(_published(ended), key=lambda event: event["at"]):
        expected -= {tuple(old) for old in event["old"]}
        expected.add(tuple(event["new"]))
    found = {(stage, name) for stage, names in _entries(work).items() for name in names}
    return f"missing or not expected: {sorted(found ^ expected)}" if found != expected else None


def _published(ended):
    for end in ended:
        for line in end.err.splitlines():
            if line.startswith("PUBLISHED "):
                yield json.loads(line.removeprefix("PUBLISHED "))


# readers


def _look(stop):
    """Read results as long as others write; print the digest of everything that was read."""
    while not stop[0]:
        try:
            atlas = ha.open("x.atlas")
            for stage in schema.STAGES:
                for of in [*atlas.results(stage)]:
                    _print_digest(ha.open("x.atlas"), stage, of)
        except HeadatlasError as error:
            sys.stderr.write(f"{error}\n")
    return 0


def _print_digest(atlas, stage, of):
    if of in atlas.results(stage):
        key = atlas.results(stage)[of]["key"]
        values = reading.read_result(atlas, stage, of)
        if atlas.results(stage).get(of, {}).get("key") == key:
            sys.stdout.write(f"{stage} {of}/{key} {reading.digest(values)}\n")


def _mixture(work, watched, seen):
    """A result that was read with two values; those on disk now count as well."""
    final = Child(_read_once, (), work).wait()
    if final.status:
        return f"cannot be read: {final}"
    for line in (watched.out + final.out).splitlines():
        if re.fullmatch(r"[a-z]+ \S+/[0-9a-f]* [0-9a-f]{16}", line):
            what, _, digest = line.rpartition(" ")
            resolution = "" if not what.startswith("collect") else _resolution(work)
            if seen.setdefault(what + resolution, digest) != digest:
                return f"{what} was read with two values"
    return None


def _resolution(work):
    return str(ha.open(work / "x.atlas").options["resolution"])


def _read_once():
    atlas = ha.open("x.atlas")
    for stage in schema.STAGES:
        for of in atlas.results(stage):
            _print_digest(atlas, stage, of)
    return 0


def _ask(stop):
    """`check`, `info` and `table` as long as others write."""
    number = 0
    while not stop[0]:
        lines = (
            ["check", "x.atlas"],
            ["info", "x.atlas", "--json"],
            ["info", "x.atlas"],
            ["table", "x.atlas", "clusters"],
        )
        sys.stderr.flush()
        status = command(*lines[number % len(lines)])
        if status not in (0, 1):
            return BROKEN
        number += 1
    return 0


def _serve(stop):
    """Everything that the page asks for, as long as others write."""
    from starlette.testclient import TestClient

    from headatlas.web import export_items
    from headatlas.web.server.app import create
    from headatlas.web.views.snapshot import Snapshot

    while not stop[0] and not _is_collected():
        time.sleep(0.01)
    if stop[0]:
        return 0
    with TestClient(create(ha.open("x.atlas"), static=None), base_url="http://127.0.0.1") as client:
        while not stop[0]:
            try:
                paths = [item.path for item in export_items.stored(Snapshot(ha.open("x.atlas")), [0, 1])]
            except HeadatlasError:
                continue
            for path in paths:
                answer = client.get(f"/{path}")
                if answer.status_code not in FRIENDLY:
                    sys.stderr.write(f"{path}: {answer.status_code} {answer.text[:500]}\n")
                    return BROKEN
                if stop[0]:
                    break
    return 0


def _is_collected():
    try:
        return "collect" in ha.open("x.atlas").done
    except HeadatlasError:
        return False
