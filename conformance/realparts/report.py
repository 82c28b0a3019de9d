"""How does a check say what it proved? One line each, a tally at the end."""

import contextlib
import signal
import sys
import time
import traceback


class Mismatch(AssertionError):
    """What came back is not what was promised."""


def expect(holds, what):
    """Fail the running check with `what` unless `holds`."""
    if not holds:
        raise Mismatch(what)


def same(got, wanted, what):
    """Fail the running check unless both are equal, and show both."""
    expect(got == wanted, f"{what}: got {got!r}, wanted {wanted!r}")


@contextlib.contextmanager
def deadline(seconds, what):
    """Interrupt the block after `seconds`, wherever it waits. Main thread only."""

    def ring(_signal, _frame):
        raise TimeoutError(f"{what} took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Report:
    """Runs checks one after the other and remembers how they ended."""

    def __init__(self):
        self.passed, self.failed, self.began = 0, 0, time.monotonic()

    def check(self, what, prove, *arguments, seconds=60):
        """Run `prove(*arguments)`. Whatever it raises is this check's failure, never the stage's."""
        began = time.monotonic()
        try:
            with deadline(seconds, what):
                prove(*arguments)
        except Exception as error:
            self.failed += 1
            self._line("FAILED", began, what)
            for line in _explain(error):
                print(f"                 {line}")
        else:
            self.passed += 1
            self._line("ok", began, what)
        sys.stdout.flush()

    def _line(self, verdict, began, what):
        print(f"{verdict:<6} {time.monotonic() - began:7.2f} s  {what}")

    def close(self):
        """Print the tally; the exit code."""
        print(f"real parts: {time.monotonic() - self.began:.1f} s")
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 0 if self.failed == 0 and self.passed > 0 else 1


def _explain(error):
    lines = f"{type(error).__name__}: {error}".splitlines()
    if not isinstance(error, (Mismatch, TimeoutError, RuntimeError)):
        lines += traceback.format_exc().splitlines()[-6:]
    return lines
