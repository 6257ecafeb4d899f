"""Processes and ports of a test: started so that they cannot outlive it, stopped so that none is left."""

import ctypes
import os
import signal
import socket
import subprocess
import time

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """Something did not come to pass; the text says what, and where to look."""


def die_with_parent():
    """For preexec_fn: the kernel kills the child when the thread that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def reserve_port():
    """A free port of 127.0.0.1 and the socket that keeps it.

    The socket is bound and never listens. A server that binds with SO_REUSEPORT takes the same port while it is
    held, so nobody else can get in between, not even while the server restarts.
    """
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind(("127.0.0.1", 0))
    return holder.getsockname()[1], holder


def wait_until(condition, seconds, what):
    """The first true value of condition(); Failure after `seconds`. `what` is a text or makes one."""
    end = time.monotonic() + seconds
    pause = 0.02
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"gave up after {seconds} s: {what() if callable(what) else what}")
        time.sleep(pause)
        pause = min(pause * 1.3, 0.25)


class Process:
    """One child with its output in a file. `keep` lets it outlive this process.

    Start it from the main thread: the kernel kills a child when the thread that started it ends.
    """

    def __init__(self, name, command, log, env=None, cwd=None, keep=False):
        self.name = name
        self.command = [str(word) for word in command]
        self.log = log
        self._env = env
        self._cwd = cwd
        self._keep = keep
        self._child = None

    def start(self):
        with open(self.log, "ab") as log:
            self._child = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._env, cwd=self._cwd,
                start_new_session=self._keep, preexec_fn=None if self._keep else die_with_parent)
        return self

    @property
    def pid(self):
        return self._child.pid

    def running(self):
        return self._child is not None and self._child.poll() is None

    def exit_code(self):
        return self._child.poll()

    def check(self):
        """Failure with the end of the log when it ended by itself."""
        if not self.running():
            raise Failure(f"{self.name} ended with {self.exit_code()}:\n{self.log_tail()}")

    def kill(self):
        if self.running():
            self._child.kill()
        if self._child is not None:
            self._child.wait()

    def terminate(self, seconds=20):
        """SIGTERM, then SIGKILL when it is not gone after `seconds`. Returns the exit code."""
        if self.running():
            self._child.terminate()
            try:
                self._child.wait(seconds)
            except subprocess.TimeoutExpired:
                self._child.kill()
        return self._child.wait() if self._child is not None else None

    def signal(self, number):
        os.kill(self._child.pid, number)

    def log_tail(self, lines=25):
        try:
            with open(self.log, errors="replace") as file:
                return "".join(file.readlines()[-lines:])
        except OSError:
            return ""
