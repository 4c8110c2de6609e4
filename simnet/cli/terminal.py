"""What people see: tables, progress bars, findings. Everything fits a terminal of 80 columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from simnet.cli import yardstick_words
from simnet.cli.output import say
from simnet.cli.widths import fitting, needed_by
from simnet.printable import escaped, escaped_json
from simnet.record.amounts import byte_unit, in_digits, told_bytes, told_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simnet.simulate import Control, Result

_PLAIN_WIDTH, _WIDEST = 100, 250
"""Characters per line where there is no terminal, and up to how many for a table that needs more."""


def show(*renderables: RenderableType) -> None:
    """Print tables. Without a terminal their width does not depend on where they run; nothing is ever cut off."""
    terminal = sys.stdout.isatty()
    out = _PlainText(highlight=False, emoji=False, width=None if terminal else _PLAIN_WIDTH)
    for renderable in renderables:
        if not terminal:
            needed = needed_by(renderable, out)
            wide = _PLAIN_WIDTH < needed.minimum <= _WIDEST
            out.width = min(needed.maximum, _WIDEST) if wide else _PLAIN_WIDTH
        for part in fitting(renderable, out) if isinstance(renderable, Table) else [renderable]:
            out.print(part)


class _PlainText(Console):
    """A console that takes every text as it is: names come from strangers, and brackets in them are no markup."""

    def render_str(self, text: str, **how: Any) -> Text:
        plain = "\n".join(map(escaped, text.split("\n")))
        return super().render_str(plain, **how | {"markup": False, "emoji": False})


def show_json(value: object) -> None:
    """Print JSON and nothing else."""
    typer.echo(escaped_json(json.dumps(value, indent=2, ensure_ascii=False)))


@contextmanager
def progress(title: str, *, quiet: bool, rate: str | None = None) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on stderr if that is a terminal, none otherwise; `rate` is the unit of its speed, if shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    speed = [] if rate is None else [_Speed(rate)]
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        *speed,
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escaped(title)[:40], total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Speed(ProgressColumn):
    """How many are finished per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.2f} {self._unit}" if task.speed else "", style="dim")


def number(value: float | None, digits: int = 4) -> str:
    """A figure for people: `–` for none, thousands separated, few digits."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if value != 0 and (abs(value) < 10**-digits or abs(value) >= 1e6):
        return f"{value:.{digits - 1}e}"
    return f"{value:.{digits}f}"


def run_table(result: Result, *, live: bool = False) -> Table:
    """The figures of one run, simulated or live."""
    summary = result.summary
    accuracy, privacy, traffic = summary["accuracy"], summary["privacy"], summary["communication"]
    stale, time = summary["staleness"], summary["time"]
    shape = f"{summary['agents']} agents, {summary['edges']} links, {summary['rounds']} rounds"
    table = Table(title=f"{summary['scenario']}\n{summary['algorithm']}, {shape}", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    rows: list[tuple[str, str, str]] = [
        ("test error", number(accuracy["test_error"]), _error_is(summary)),
        *yardstick_words.rows(summary.get("yardsticks")),
        *((_named(name), number(value), "") for name, value in summary.get("measures", {}).items()),
        ("train loss", number(accuracy["train_loss"]), "mean over agents, own data"),
        ("consensus", number(accuracy["consensus"]), "spread of the models"),
        ("dual drift", number(accuracy["dual_drift"]), "0 on a perfect network"),
        ("ε claimed", number(privacy["claimed_epsilon"]), "what the paper's theorem says of this noise"),
        ("ε proven", number(privacy["proven_epsilon"]), f"at δ = {privacy['delta']:g}: {privacy['basis']}"),
        *_declared(privacy),
        *_of_labels(privacy),
        *(("", "", f"ε does not cover: {caveat}") for caveat in privacy.get("caveats", ())),
        ("broadcasts", number(traffic["broadcasts"]), _skipped(summary)),
        *_tests(summary),
        ("messages", number(traffic["messages"]), f"{traffic['delivered']:,} delivered, {_fates(traffic)}"),
        ("on the wire", told_bytes(traffic["wire_bytes"]), f"{traffic['payload_bytes']:,} payload bytes"),
        ("staleness", f"{stale['mean']:.3f}", f"rounds; {stale['fresh_share']:.1%} fresh, at most {stale['max']}"),
        ("age", told_seconds(stale["mean_seconds"]), f"of the values used; {_ages(stale)}"),
        ("missed", f"{stale['missed_share']:.1%}", "of the values used: a newer release had not arrived"),
        ("gradients", number(summary["work"]["gradients"]), "evaluated by all agents"),
        ("lasted" if live else "simulated", told_seconds(time["simulated"]), f"{time['events']:,} events"),
        *_busiest(summary),
        ("digest", summary["digest"][:12], _repeats(result, live=live)),
        ("this record", "", privacy.get("fit") or ""),
    ]
    if carried := summary.get("sockets"):
        place = next(k for k, row in enumerate(rows) if row[0] == "staleness")
        headers = f"inside TCP; IP and TCP headers add about {told_bytes(carried['header_bytes'])}"
        rows.insert(place, ("by sockets", told_bytes(carried["sent_bytes"]), headers))
    for row in (*rows[:-3], *_air(summary), *rows[-3:]):
        table.add_row(*row)
    return table


def _error_is(summary: dict[str, Any]) -> str:
    """What the test error is, where it is no share of errors, and of which output."""
    output = f"of {summary['output']}" if "output" in summary else None
    return ", ".join(filter(None, (summary.get("test_error_is"), "mean over agents", output)))


def _named(measure: str) -> str:
    """The name of a measure, for people."""
    return measure.replace("_", " ")


def _of_labels(privacy: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What users chose the ε of their labels from, where each has its own."""
    if (chosen := privacy.get("label_epsilon")) is None:
        return []
    told = f"least {chosen['least']:g}, median {chosen['median']:g}: every user is promised its own"
    return [("ε of a label", number(chosen["largest"]), told)]


def _declared(privacy: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What a method's author says of its noise, where that is not proven."""
    if "declared_epsilon" not in privacy:
        return []
    return [("ε declared", number(privacy["declared_epsilon"]), "what the method's author says, without a proof here")]


def _air(summary: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What a radio channel and the agents' power come to, where there are any."""
    rows = []
    if air := summary.get("airtime"):
        rows.append(
            ("airtime", f"{air['sent']:.3f} s", f"of all agents; channel busy for {air['utilisation']:.1%} of the time")
        )
    if joules := summary.get("joules"):
        parts = ", ".join(f"{value:.4g} {name}" for name, value in joules.items())
        rows.append(("joules", f"{sum(joules.values()):.4g}", parts))
    return rows


def _repeats(result: Result, *, live: bool) -> str:
    """Whether somebody else gets the same events from the scenario."""
    drawn_anew = live or result.scenario.privacy.noise == "fresh"
    return "of these events" if drawn_anew else "same scenario and seed, same digest"


def _ages(stale: dict[str, float]) -> str:
    return f"19 in 20 up to {told_seconds(stale['p95_seconds'])}, at most {told_seconds(stale['max_seconds'])}"


def _busiest(summary: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The busiest physical link of an underlay."""
    if "underlay" not in summary:
        return []
    found = summary["underlay"]
    return [
        ("busiest link", f"{found['utilisation']:.1%}", f"{found['busiest']}; routes over it: {found['shared_by']}")
    ]


def _tests(summary: dict[str, Any]) -> list[tuple[str, str, str]]:
    """How often a test passed, how loud its noise is, and, from a private log, how good its answers were."""
    found = summary.get("tests")
    if found is None:
        return []
    told = f"of {found['asked']:,} tests; noise of an answer {found['noise']:.3g} (standard deviation)"
    if "improvement" in found:
        told += f", median improvement {found['improvement']:.3g}"
    if found.get("auc") is not None:
        told += f"; AUC {found['auc']:.3f} (a coin: 0.5)"
    if "right_share" in found:
        told += f", {found['right_share']:.1%} of the answers right"
    return [("passed", f"{found['pass_rate']:.1%}", told)]


def _skipped(summary: dict[str, Any]) -> str:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in summary["skips_by_reason"].items() if count)
    return f"{summary['communication']['skips']:,} skipped" + (f" ({reasons})" if reasons else "")


def _fates(traffic: dict[str, int]) -> str:
    names = ("lost", "overflowed", "unreachable", "refused", "in_flight")
    return ", ".join(f"{traffic[name]:,} {name.replace('_', ' ')}" for name in names if traffic[name]) or "none lost"


def compare_table(results: Sequence[Result], controls: Sequence[Control] = ()) -> Table:
    """One row per method; below it, who was silent, and what each would have reached without its test."""
    first = results[0].summary
    title = f"{first['scenario']}: ε = {first['privacy']['epsilon']:g}, seed {first['seed']}"
    title += f", test error of {first['output']}" if "output" in first else ""
    if held_against := yardstick_words.line([result.summary.get("yardsticks", {}) for result in results]):
        title += f"\n{held_against}"
    table = Table(title=title, box=SIMPLE_HEAD, padding=0)  # many columns, little room
    table.add_column("method", style="bold", no_wrap=True)
    size, unit = byte_unit([result.summary["communication"]["wire_bytes"] for result in results])
    headings = "test error, train loss, ε claimed, ε proven, sent, skips, msgs"
    headings += f", {unit}, stale, age s, missed, grads, time s"
    aired, powered = (any(name in result.summary for result in results) for name in ("airtime", "joules"))
    declared = any("declared_epsilon" in result.summary["privacy"] for result in results)
    measures = dict.fromkeys(name for result in results for name in result.summary.get("measures", ()))
    optional = {"air s": aired, "J": powered, "ε declared": declared}
    own = (*(name for name, there in optional.items() if there), *map(_named, measures))
    for heading in (*headings.split(", "), *own):
        table.add_column(heading, justify="right")
    for result in results:
        summary = result.summary
        traffic = summary["communication"]
        table.add_row(
            summary["algorithm"],
            number(summary["accuracy"]["test_error"]),
            number(summary["accuracy"]["train_loss"]),
            number(summary["privacy"]["claimed_epsilon"], 3),
            number(summary["privacy"]["proven_epsilon"], 3),
            number(traffic["broadcasts"]),
            number(traffic["skips"]),
            number(traffic["messages"]),
            in_digits(traffic["wire_bytes"] / size),
            f"{summary['staleness']['mean']:.2f}",
            _few(summary["staleness"]["p95_seconds"]),
            f"{summary['staleness']['missed_share']:.1%}",
            number(summary["work"]["gradients"]),
            _few(summary["time"]["simulated"]),
            *([f"{summary.get('airtime', {}).get('sent', 0.0):.3g}"] if aired else []),
            *([f"{sum(summary.get('joules', {}).values()):.4g}"] if powered else []),
            *([number(summary["privacy"].get("declared_epsilon"), 3)] if declared else []),
            *(number(summary.get("measures", {}).get(name)) for name in measures),
        )
    silent = [result.summary for result in results if result.summary["communication"]["skips"]]
    lines = ["; ".join(f"{summary['algorithm']}: {_skipped(summary)}" for summary in silent), *map(_stopped, controls)]
    table.caption = "\n".join(filter(None, lines)) or None
    return table


def _few(value: float) -> str:
    """Two decimals, and of what is smaller than a tenth two digits."""
    return f"{value:.2g}" if 0.0 < value < 0.1 else f"{value:,.2f}"


def _stopped(control: Control) -> str:
    """A control in words."""
    stops = {f"stopped at {control.of}'s bytes": control.same_bytes, "at its time": control.same_time}
    told = [
        f"{where}: test error {number(row['test_error'])} (round {row['round']}, "
        f"ε proven {number(row['proven_epsilon'], 3)})"
        for where, row in stops.items()
        if row is not None
    ]
    return f"{control.method}, {'; '.join(told)}" if told else ""


def live_table(simulated: Result, live: Result) -> Table:
    """A scenario simulated and live, side by side."""
    told = live.summary
    table = Table(title=f"{told['scenario']}: {told['algorithm']}, {told['agents']} agents, {told['edges']} links")
    table.add_column("", style="bold")
    for heading in ("simulated", "live", "live / simulated"):
        table.add_column(heading, justify="right")
    finished = [sum(each.agents["rounds"]) / each.agents.height for each in (simulated, live)]
    table.add_row("rounds finished", *(f"{value:g}" for value in finished), f"{finished[1] / finished[0]:.3f}")
    rows = [
        *((name, "communication", name, 1.0) for name in ("broadcasts", "skips", "messages", "delivered", "lost")),
        ("frame bytes", "communication", "wire_bytes", 1.0),
        ("staleness, rounds", "staleness", "mean", 1.0),
        ("p95 age of values, s", "staleness", "p95_seconds", 1.0),
        ("missed share", "staleness", "missed_share", 1.0),
        ("test error", "accuracy", "test_error", 1.0),
        ("train loss", "accuracy", "train_loss", 1.0),
        ("ms per round", "time", "simulated", 1e3 / told["rounds"]),
    ]
    for label, section, name, scale in rows:
        pair = [each.summary[section][name] for each in (simulated, live)]
        shown = [value if isinstance(value, int) else value * scale for value in pair]
        ratio = f"{pair[1] / pair[0]:.3f}" if pair[0] else "–"
        table.add_row(label, *(number(value) for value in shown), ratio)
        if name == "wire_bytes" and "sockets" in told:
            carried = told["sockets"]
            table.add_row("socket bytes", "–", number(carried["sent_bytes"]), "–")
            table.add_row("with headers, about", "–", number(carried["sent_bytes"] + carried["header_bytes"]), "–")
    return table


def fact_tables(found: dict[str, dict[str, Any]]) -> list[Table]:
    """One small table per topic."""
    tables = []
    for topic, facts in found.items():
        table = Table(title=topic, title_justify="left", show_header=False, box=None, padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        for name, value in facts.items():
            table.add_row(name, f"{value:.6g}" if isinstance(value, float) else str(value))
        tables.append(table)
    return tables


def say_caveats(caveats: Sequence[str]) -> None:
    """Print what a proven ε does not cover."""
    for caveat in caveats:
        say(f"ε does not cover: {caveat}")


def say_findings(what: str, fine: str, findings: Sequence[str]) -> None:
    """Print a verdict."""
    if not findings:
        say(f"{what}: {fine}")
        return
    say(f"{what}: {len(findings)} finding{'s' if len(findings) > 1 else ''}")
    for finding in findings:
        say(f"  - {finding}")
