"""Runs a command in a pseudo-terminal: in_terminal.py COLUMNS LINES COMMAND...

What comes on standard input is typed, and what the command draws goes to standard output. SIGUSR1 makes the terminal ten columns and five
lines larger. Ends with the exit status of the command; killed by a signal, 128 and its number.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

columns, lines = int(sys.argv[1]), int(sys.argv[2])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[3], sys.argv[3:])


def resize():
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def grow(*_):
    global columns, lines
    columns, lines = columns + 10, lines + 5
    resize()


resize()
signal.signal(signal.SIGUSR1, grow)
watched = [0, terminal]
while True:
    ready, _, _ = select.select(watched, [], [])
    if 0 in ready:
        typed = os.read(0, 4096)
        if typed:
            os.write(terminal, typed)
        else:
            watched.remove(0)
    if terminal in ready:
        try:
            drawn = os.read(terminal, 65536)
        except OSError:
            drawn = b""
        if not drawn:
            break
        os.write(1, drawn)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
