"""Rows dealt in equal parts whose shares of positive labels rise evenly: the first agent has hardly any, the last
nearly twice the mean. With Adult and five agents the first has 1 %, the last nearly half.
"""

import numpy as np

from simnet.extend import Field, Probability, RowPartition


class Slanted(RowPartition):
    """Parts of equal size; the share of positive labels rises evenly from the first agent to the last."""

    looks_at = "labels"

    least: Probability = Field(0.01, description="share of the rarer label at the agent that has it least")

    def deal(self, rows, agents, rng):
        order = rng.permutation(rows.rows)
        positive, negative = order[rows.y[order] > 0], order[rows.y[order] <= 0]
        sizes = np.diff(np.linspace(0, rows.rows, agents + 1).round().astype(int))
        mean = len(positive) / rows.rows
        # Sums of shares, rounded, so that every positive row is dealt once.
        width = max(0.0, min(mean, 1.0 - mean) - self.least)
        wanted = np.linspace(mean - width, mean + width, agents) * sizes
        ends = np.minimum(np.cumsum(wanted).round().astype(int), len(positive))[:-1]
        some = np.split(positive, ends)
        rest = np.split(negative, np.cumsum(sizes - [len(part) for part in some])[:-1])
        return [np.concatenate(pair) for pair in zip(some, rest, strict=True)]
