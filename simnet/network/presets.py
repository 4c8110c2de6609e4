"""Links that many people have: named settings of [network.link], with their sources in docs/network.md."""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "lan": {
        "latency": {"kind": "lognormal", "median": "0.2 ms", "sigma": 0.3},
        "bandwidth": "1 Gbit/s",
        "queue": {"limit": 512 * 1024, "unit": "bytes"},
        "order": "fifo",
        "mtu": 1500,
        "overhead": 66,
    },
    "wan": {
        "latency": {"kind": "lognormal", "median": "40 ms", "sigma": 0.25},
        "bandwidth": "100 Mbit/s",
        "queue": {"limit": 500 * 1000, "unit": "bytes"},
        "loss": {"kind": "bernoulli", "p": 0.002},
        "mtu": 1500,
        "overhead": 66,
    },
    "4g": {
        "latency": {"kind": "lognormal", "median": "26 ms", "sigma": 0.4},
        "bandwidth": "13.6 Mbit/s",
        "queue": {"limit": 250 * 1000, "unit": "bytes"},
        "loss": {"kind": "bursts", "rate": 0.005, "length": 3},
        "order": "fifo",
        "mtu": 1428,
        "overhead": 66,
    },
    "satellite": {
        "latency": {"kind": "normal", "mean": "280 ms", "std": "10 ms"},
        "bandwidth": "3 Mbit/s",
        "queue": {"limit": 220 * 1000, "unit": "bytes"},
        "loss": {"kind": "bursts", "rate": 0.01, "length": 5},
        "order": "fifo",
        "mtu": 1500,
        "overhead": 66,
    },
    "lorawan": {
        "latency": {"kind": "uniform", "low": "50 ms", "high": "200 ms"},
        "bandwidth": "5470 bit/s",
        "queue": {"limit": 8},
        "loss": {"kind": "bernoulli", "p": 0.1},
        "order": "fifo",
        "mtu": 255,
        "overhead": 13,
    },
    "congested-wifi": {
        "latency": {"kind": "lognormal", "median": "8 ms", "sigma": 1.0},
        "bandwidth": "6 Mbit/s",
        "queue": {"limit": 64, "red": {"low": 16, "high": 48, "chance": 0.1, "weight": 0.02}},
        "loss": {"kind": "gilbert-elliott", "p_good_to_bad": 0.02, "p_bad_to_good": 0.25, "loss_bad": 0.5},
        "duplication": 0.002,
        "mtu": 1500,
        "overhead": 102,
    },
}
