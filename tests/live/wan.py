"""Two network namespaces, and a wire between them with delay and loss."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE, THERE = "10.213.0.1", "10.213.0.2"
"""Addresses inside the namespaces; nothing outside can see them."""


@dataclass(frozen=True)
class Site:
    """One end: a namespace and its address."""

    namespace: str
    address: str

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A process of this Python in the namespace."""
        command = ["ip", "netns", "exec", self.namespace, sys.executable, *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


@contextmanager
def sites() -> Iterator[tuple[Site, Site]]:
    """Two namespaces without a wire."""
    if shutil.which("ip") is None:
        pytest.skip("there is no command `ip` (iproute2)")
    pair = Site(f"simnet-{os.getpid()}-a", HERE), Site(f"simnet-{os.getpid()}-b", THERE)
    with ExitStack() as stack:
        for site in pair:
            _need("ip", "netns", "add", site.namespace)
            stack.callback(_do, "ip", "netns", "del", site.namespace)
        yield pair


@contextmanager
def netem(delay: float, loss: float) -> Iterator[tuple[Site, Site]]:
    """The kernel's own emulation, on a pair of virtual network cards."""
    if shutil.which("tc") is None:
        pytest.skip("there is no command `tc` (iproute2)")
    with sites() as (here, there):
        _need("ip", "link", "add", "wire", "netns", here.namespace, "type", "veth", "peer", "wire", "netns", there.namespace)  # fmt: skip  # noqa: E501
        for site in (here, there):
            _address(site, f"{site.address}/24")
            emulation = ("delay", f"{delay * 1000}ms", "loss", f"{loss * 100}%")
            _need("tc", "-n", site.namespace, "qdisc", "add", "dev", "wire", "root", "netem", *emulation)
        yield here, there


@contextmanager
def user_space(delay: float, loss: float, folder: Path) -> Iterator[tuple[Site, Site]]:
    """A relay of our own between two tun devices."""
    with sites() as (here, there), ExitStack() as stack:
        for site, other in ((here, there), (there, here)):
            _need("ip", "-n", site.namespace, "tuntap", "add", "dev", "wire", "mode", "tun")
            _address(site, f"{site.address}/24")
            sockets = (str(folder / end.namespace) for end in (site, other))
            process = site.start("-m", "tests.live.tun_relay", "wire", *sockets, str(delay), str(loss))
            stack.callback(stop, process)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield here, there


def stop(process: subprocess.Popen[str]) -> None:
    """End a process that this test started."""
    process.kill()
    process.communicate()


def _address(site: Site, address: str) -> None:
    _need("ip", "-n", site.namespace, "address", "add", address, "dev", "wire")
    _need("ip", "-n", site.namespace, "link", "set", "wire", "up")


def _need(*command: str) -> None:
    done = _do(*command)
    if done.returncode:
        pytest.skip(f"this machine does not allow `{' '.join(command)}`: {done.stderr.strip()}")


def _do(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
