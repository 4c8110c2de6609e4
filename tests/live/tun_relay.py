"""One end of a wire through user space, for kernels without netem: `python -m tests.live.tun_relay`.

Takes the packets that a namespace sends to its tun device, loses some, holds the others back for a while, and hands
them to the other end's socket; what comes from there goes to the device.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import random
import select
import socket
import struct
import time
from collections import deque
from pathlib import Path

_TUNSETIFF = 0x400454CA
_IFF_TUN_NO_PI = 0x1001


def relay(device: str, mine: Path, other: Path, delay: float, loss: float) -> None:
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH", device.encode(), _IFF_TUN_NO_PI))
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    wire.bind(str(mine))
    print("ready", flush=True)
    chance = random.Random(device)
    held: deque[tuple[float, bytes]] = deque()
    while True:
        patience = max(0.0, held[0][0] - time.monotonic()) if held else None
        readable, _, _ = select.select([tun, wire], [], [], patience)
        if tun in readable:
            packet = os.read(tun, 65535)
            if chance.random() >= loss:
                held.append((time.monotonic() + delay, packet))
        if wire in readable:
            os.write(tun, wire.recv(65535))
        while held and held[0][0] <= time.monotonic():
            with contextlib.suppress(OSError):  # The other end is not there yet.
                wire.sendto(held.popleft()[1], str(other))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("device")
    parser.add_argument("mine", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("delay", type=float)
    parser.add_argument("loss", type=float)
    relay(**vars(parser.parse_args()))
