"""What can go wrong in a library, for real: each is called in the middle of training."""

import os
import signal
import subprocess
import sys
import threading
import time


def hang(session):
    """The training loop stops for ever; the heartbeat thread goes on."""
    time.sleep(3600)


def freeze(session):
    """The whole process stands still."""
    os.kill(os.getpid(), signal.SIGSTOP)


def crash(session):
    """An exception out of the library."""
    raise RuntimeError("the library broke: [red]markup[/red]")


def swallow(session):
    """A library that swallows every Exception while it is asked to stop."""
    while True:
        try:
            session.tick()
            time.sleep(0.01)
        except Exception:
            pass


def segfault(session):
    """A crash in C."""
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(session):
    """``sys.exit(0)`` in the middle."""
    os._exit(0)


def out_of_memory(session):
    """What Python raises when there is no memory."""
    raise MemoryError


def linger(session):
    """A thread that keeps the process from ending."""
    threading.Thread(target=time.sleep, args=(3600,)).start()


def deaf(session):
    """SIGTERM ignored."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)


def babble(session):
    """100,000 lines on stdout, from Python, from C and from a child, and one of 10 MB."""
    for number in range(100_000):
        print("line", number)
    os.write(1, b"x" * 10_000_000 + b"\n")
    subprocess.run([sys.executable, "-c", 'print(\'{"event":"forged"}\')'], check=True)


def family(session):
    """Children in the group, outside the group, and outside the session; then an endless loop."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(3600)"]
    subprocess.Popen(sleeper)
    subprocess.Popen(sleeper, process_group=0)
    subprocess.Popen(sleeper, start_new_session=True)
    while True:
        session.tick(0)
        time.sleep(0.01)


def metrics(session):
    """Numbers that JSON lacks, and a value that is too long for a line."""
    session.metric("loss", float("nan"), 50)
    session.metric("bound", float("inf"), 50)
    session.metric("text", "ü" * 200_000, 50)
