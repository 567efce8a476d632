"""What both scripts share: steps that are named before they run, and waiting for what comes by itself."""

import sys
import time


def run(*steps):
    """Runs functions in order. What each holds is its docstring."""
    for step in steps:
        begin = time.monotonic()
        print(f"step: {step.__doc__}", flush=True)
        step()
        print(f"      {time.monotonic() - begin:.1f} s", flush=True)
    print("all steps hold", flush=True)


def restart():
    """Has the server started again on its data, and returns when it is up."""
    print("restart", flush=True)
    if not sys.stdin.readline():
        raise SystemExit("nobody started the server again")


def eventually(what, holds, seconds=60):
    """Returns the first true value of `holds`."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.05)
    return value


def equal(one, other):
    assert one == other, f"{one!r} is not {other!r}"
