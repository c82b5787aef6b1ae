"""Runs `athenan WORDS` or `SCRIPT WORDS` in a process forked from the server of `forking.served_programs`.

This process starts without Python's packages, in a fiftieth of a second, and hands its standard streams on. Both
processes end together, with the same exit code. Without a server the program is started as usual.
"""

from __future__ import annotations

import json
import os
import socket
import sys

SERVER = "FORKED_PROGRAMS_SERVER"
"""Environment variable with the address of the server."""


def main() -> int:
    script, *words = sys.argv[1:]
    address = os.environ.get(SERVER)
    if address is None:
        start = ["-m", "athenan_spiel"] if script == "athenan" else [script]
        os.execv(sys.executable, [sys.executable, *start, *words])
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        given = json.dumps([script, words, os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(server, [len(given).to_bytes(8, "big")], [0, 1, 2])
        server.sendall(given)
        for descriptor in range(3):
            os.close(descriptor)
        return int(server.recv(16) or 1)


if __name__ == "__main__":
    os._exit(main())
