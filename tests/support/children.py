"""Processes that tests start."""

import signal


def listening():
    """For `preexec_fn`: a test run as a background job of a shell ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
