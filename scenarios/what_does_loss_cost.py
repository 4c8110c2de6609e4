"""A scenario as a script: what does message loss cost IPP-ADMM?

    python scenarios/what_does_loss_cost.py

The same data, graph, noise and latencies in every run; only the loss rate changes, so a difference between two rows is
the loss and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from simnet import Scenario, run

QUICKSTART = Path(__file__).with_name("quickstart.toml")


def main() -> None:
    base = Scenario.load(QUICKSTART)
    print("loss   test error   dual drift   fresh   messages   MB")
    for p in (0.0, 0.05, 0.2, 0.4):
        summary = run(base.with_(**{"network.link.loss": {"kind": "bernoulli", "p": p}})).summary
        accuracy, traffic = summary["accuracy"], summary["communication"]
        fresh, megabytes = summary["staleness"]["fresh_share"], traffic["wire_bytes"] / 1e6
        print(
            f"{p:4.0%}   {accuracy['test_error']:10.4f}   {accuracy['dual_drift']:10.4f}   {fresh:5.0%}"
            f"   {traffic['messages']:8}   {megabytes:.2f}"
        )


if __name__ == "__main__":
    main()
