"""Commands in a terminal."""
import os
import struct
import subprocess
import sys

from paths import PACKAGES


def in_terminal(*arguments: object, messages: bool = True, **environment: str) -> str:
    """What a command prints in a terminal of 200 columns; without `messages`, on standard output only."""
    import fcntl  # here: not on Windows
    import pty
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    known = {**os.environ, "PYTHONPATH": str(PACKAGES), "PYTHONIOENCODING": "utf-8", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "bpetite", *map(str, arguments)], stdout=follower, stdin=subprocess.DEVNULL,
        stderr=follower if messages else subprocess.DEVNULL, env={**known, **environment},
    ) as process:  # fmt: skip
        os.close(follower)
        said = b""
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:  # on Linux: the other end is closed
                break
            if not piece:
                break
            said += piece
        process.wait(60)
    os.close(leader)
    return said.decode("utf-8")
