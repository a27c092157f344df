"""Ctrl-C that arrives where Python drops it."""

import gc
import signal

import pytest

from headatlas import interrupts, progress


class Swallows:
    """Is interrupted while it is deleted, where Python ignores every error."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_was_swallowed_stops_the_next_step_without_a_traceback(capfd):
    steps = 0
    with pytest.raises(KeyboardInterrupt), interrupts.remembered(), progress.bar("steps", 3, "steps") as advance:
        for _ in range(3):
            advance(1)
            steps += 1
            lost = Swallows()
            del lost
            gc.collect()
    assert steps == 1 and "Traceback" not in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_was_seen_is_not_raised_again():
    with pytest.raises(KeyboardInterrupt), interrupts.remembered():
        signal.raise_signal(signal.SIGINT)
    with interrupts.remembered(), progress.bar("steps", 1, "steps") as advance:
        advance(1)


def test_a_handler_of_the_process_stays():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.remembered():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
