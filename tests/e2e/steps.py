"""Tests that tell a story: steps that build on one another, each timed; the first that fails ends it."""

import contextlib
import os
import sys
import time
import traceback

from fleet import Failure, exit_on_signals


class Steps:
    def __init__(self):
        self.passed = 0

    @contextlib.contextmanager
    def step(self, text):
        """Prints the text, runs the block, prints how long it took."""
        started = time.monotonic()
        print(f"• {text} … ", end="", flush=True)
        try:
            yield
        except BaseException:
            print(f"FAILED after {time.monotonic() - started:.1f} s", flush=True)
            raise
        self.passed += 1
        print(f"ok ({time.monotonic() - started:.1f} s)", flush=True)

    @staticmethod
    def note(text):
        print(f"  {text}", flush=True)


def check(condition, text):
    if not condition:
        raise Failure(text)


def check_equal(found, expected, text):
    """For dicts and sets the failure names the differences only."""
    if found == expected:
        return
    if isinstance(found, dict) and isinstance(expected, dict):
        more = {key: found[key] for key in found.keys() - expected.keys()}
        less = {key: expected[key] for key in expected.keys() - found.keys()}
        changed = {key: (expected[key], found[key]) for key in found.keys() & expected.keys()
                   if found[key] != expected[key]}
        raise Failure(f"{text}: unexpected {more}, missing {less}, changed {changed}")
    raise Failure(f"{text}: found {found!r}, expected {expected!r}")


def number(variable, default):
    """A count that a longer run raises by an environment variable."""
    return int(os.environ.get(variable) or default)


def run(story):
    """Runs story(Steps) as a program: exit code 0 when every step passed."""
    exit_on_signals()
    steps = Steps()
    started = time.monotonic()
    try:
        story(steps)
    except Failure as failure:
        print(f"\n{failure}", file=sys.stderr)
        print(f"{steps.passed} steps passed, 1 failed in {time.monotonic() - started:.0f} s")
        sys.exit(1)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        print(f"{steps.passed} steps passed, 1 failed in {time.monotonic() - started:.0f} s")
        sys.exit(1)
    print(f"{steps.passed} steps passed, 0 failed in {time.monotonic() - started:.0f} s")
