"""Processes that tests start."""

import signal


def listening():
    """For `preexec_fn`: a background job of a shell ignores Ctrl-C, and so would the processes that its tests start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
