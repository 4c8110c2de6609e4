"""A picture of the top of a run's report, as a reader's browser shows it.

    python -m analysis.report_picture scenarios/quickstart.toml --output docs/report.png

Needs Chromium. The replay stands where a message is just being lost.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from analysis.browser import CHROMIUM, browser
from simnet import Scenario, run
from simnet.report import report

WIDTH, HEIGHT = 1200, 1790


def picture(scenario: Scenario, moment: float, output: Path) -> None:
    """Run, report, open, move the replay to a moment in simulated seconds, and look."""
    with tempfile.TemporaryDirectory() as runs, browser() as tab:
        folder = run(scenario, Path(runs)).folder
        assert folder is not None
        tab.open(report(folder), width=WIDTH, height=HEIGHT)
        tab.ask(f"scrub.value = {moment}; scrub.dispatchEvent(new Event('input'))")
        tab.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        tab.picture(output, whole=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--moment", type=float, default=5.08, help="where the replay stands, in simulated seconds")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    if CHROMIUM is None:
        print(f"{options.output} stays as it is: there is no Chromium on this machine to look with.", file=sys.stderr)
        return
    picture(Scenario.load(options.scenario), options.moment, options.output)


if __name__ == "__main__":
    main()
