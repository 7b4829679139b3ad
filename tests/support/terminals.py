"""Commands in a terminal."""
import os
import struct
from subprocess import DEVNULL

from commands import start


def in_terminal(*arguments: object, messages: bool = True, **environment: str) -> str:
    """What a command prints in a terminal of 200 columns; without `messages`, on standard output only."""
    import fcntl  # here: not on Windows
    import pty
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    environment = {"PYTHONIOENCODING": "utf-8", "TERM": "xterm-256color", **environment}
    streams = {"stdin": DEVNULL, "stdout": follower, "stderr": follower if messages else DEVNULL}
    with start(*arguments, env=environment, **streams) as process:
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
