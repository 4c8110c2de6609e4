"""How much noise the sharper proofs save: the goals, and the page that tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.noise_by_proof import SETTINGS, filled, sigma, worst

PAGE = Path(__file__).parents[2] / "docs" / "privacy.md"


@pytest.mark.parametrize(
    ("setting", "goal"),
    [
        ("quickstart (ipp-admm), ε = 1", 0.90),
        ("pp-admm, ring, ε = 1", 0.86),
        ("pp-admm, ring, ε = 0.25", 0.61),
        ("dp-admm, untrusted hub, ε = 1", 0.91),
    ],
)
def test_the_least_of_what_is_proven_asks_for_less_noise_than_the_moments_bound(setting: str, goal: float) -> None:
    scenario = SETTINGS[setting]
    assert sigma(worst(scenario, "least")) <= goal * sigma(worst(scenario, "moments"))


def test_the_table_of_the_page_is_what_the_command_prints() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page, "run: python -m analysis.noise_by_proof --into docs/privacy.md"
