"""A storm of kills: commands die at random file operations, are run again, and must end with the same bits."""

import random
import signal
from functools import cache

from storm.children import Child, Operations, run
from storm.counting import LOST, REPAIRED, TRACEBACK, WITHOUT, WRONG, Report
from storm.reading import read_finished
from storm.scene import COMMANDS, content, differences


def storm(scene, seed, numbers, names=tuple(COMMANDS)):
    """Kill commands, run each again, and compare what is on disk with an undisturbed run."""
    report = Report()

    @cache
    def undisturbed(name):
        """Operations of a command that is left alone, what it leaves on disk, and what can be read then."""
        work, operations = scene.fresh(name), Operations()
        ended = Child(operations, scene.arguments(COMMANDS[name]), work).wait()
        assert ended.status == 0, ended
        return operations.count, content(work)

    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        name = names[number % len(names)]
        total, expected = undisturbed(name)
        at, half = rng.randrange(total), rng.random() < 0.5
        where = f"seed {seed}, case {number}, {name}, operation {at} of {total}{', half' * half}"
        while (outcome := _kill(scene, name, Operations(at, half), expected, where)) is None:
            at -= 1  # threads of zarr make some folders twice, or once
        report.add(*outcome)
    return report


def _kill(scene, name, operations, expected, where):
    """Kill a command, read, run it again; the outcome, where, and what was wrong. None if it ended before."""
    work, arguments = scene.fresh(name), scene.arguments(COMMANDS[name])
    killed = Child(operations, arguments, work).wait()
    if killed.status == 0:
        return None
    if killed.status != -signal.SIGKILL:
        return TRACEBACK, where, f"it was not killed: {killed}"
    finished = content(work) == expected
    for check in (Child(read_finished, ("x.atlas",), work), Child(_check, (), work)):
        ended = check.wait()
        if ended.has_traceback or (ended.status and ended.line is None):
            return TRACEBACK, where, f"when it was read: {ended}"
    again = run(arguments, work)
    if again.has_traceback:
        return TRACEBACK, where, str(again)
    if again.status:
        return LOST, where, str(again)
    left = content(work)
    if left != expected:
        return WRONG, where, f"differ: {differences(left, expected)}"
    return WITHOUT if finished else REPAIRED, where, ""


def _check():
    from storm.children import command

    return command("check", "x.atlas")
