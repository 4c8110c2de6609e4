"""The conformance kit: the table of all checks, and how they are run.

A check looks at a part and says what it found. Where it raises instead, that is what it found: `Failing` and
`Inapplicable` are sentences, every other exception is a failure of the part, told with its place in the author's file.
A check that `needs` another one is not run where that one failed: the first mistake is the one to mend.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from simnet.check import declarations, deployment, hardships, onlookers, repetition, siege, small_audit, spending
from simnet.check.outcome import Failing, Inapplicable, Outcome, Status, told
from simnet.check.subject import METHOD, Subject

CODEC = "network.codec"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Check:
    """One question to a part: its name, why it is asked, and who answers."""

    name: str
    why: str
    look: Callable[[Subject], str]
    needs: tuple[str, ...] = ()
    at: str = ""
    """The place of the only parts that are asked; empty: all are."""
    slow: bool = False
    """Whether `--quick` leaves it out."""


LOADS = Check("loads", "a scenario names the part and simnet finds it", lambda subject: _kind(subject))
CHECKS: tuple[Check, ...] = (
    LOADS,
    Check("described", "`list`, `explain` and the reference show these words", declarations.described),
    Check("defaults", "a scenario need say no more than the part's name", declarations.defaults),
    Check("comes back", "a record holds the scenario, and must load again", declarations.comes_back, ("defaults",)),
    Check("hands off", "in a simulation agents share the vectors", onlookers.hands_off, ("defaults",), METHOD),
    Check("runs", "a small world on a calm network", hardships.runs, ("defaults", "hands off")),
    Check("same seed", "results are repeated by their seed", repetition.same_seed, ("runs",)),
    Check("new process", "results do not depend on hashes", repetition.fresh_process, ("same seed",)),
    Check("worker", "studies send scenarios to workers", repetition.worker, ("new process", "comes back")),
    Check("own chance", "one agent's draws must not change another's", repetition.own_chance, ("same seed",)),
    Check("no clock", "a run that reads the time cannot be repeated", repetition.no_clock, ("same seed",)),
    Check("codec", "what it says of loss and memory is believed", declarations.codec, ("runs",), CODEC),
    *(
        Check(name, why, hardships.hardship(name), ("runs",), METHOD)
        for name, why in {
            "loss": "networks lose messages",
            "reordering": "later messages may arrive before earlier ones",
            "stale values": "a deadline does not wait for news",
            "some neighbours": "`network.peers` lets an agent speak to few",
            "crash": "agents stop, and go on",
            "float32": "messages may be rounded",
            "int8": "messages may be rounded coarsely, at random",
        }.items()
    ),
    Check("lost state", "a crash may take the state", hardships.lost_state, ("crash",), METHOD),
    Check("proposes", "the ledger may refuse a proposal", onlookers.proposes_only, ("runs",), METHOD),
    Check("followed", "an auditor retraces runs by absorbing", onlookers.followed, ("runs",), METHOD),
    Check("noise", "noise that is not secret protects nothing", repetition.own_noise, ("same seed",), METHOD),
    Check("hostile", "neighbours may send anything", siege.hostile, ("runs", "noise"), METHOD),
    Check("charges", "a release that nobody pays for is bare", spending.charged, ("runs",), METHOD),
    Check("whole message", "charges pay for all that leaves", spending.hidden, ("noise", "charges"), METHOD),
    Check("plan", "ε is known before anything runs", spending.planned, ("charges",), METHOD),
    Check("budget", "ε is met by a proof", spending.within_budget, ("plan",), METHOD),
    Check("bare", "without noise nothing is promised", spending.bare, ("charges", "plan"), METHOD),
    Check("checkpoint", "a live agent goes on after a kill", deployment.kept_in_checkpoints, ("runs",), METHOD),
    Check(
        "live",
        "real agents do what simulated ones do",
        deployment.agrees,
        ("same seed", "checkpoint"),
        METHOD,
        slow=True,
    ),
    Check("live, killed", "an agent may die at any time", deployment.survives_a_kill, ("live",), METHOD, slow=True),
    Check(
        "audit",
        "noise is looked at, not believed",
        small_audit.audited,
        ("followed", "noise", "plan"),
        METHOD,
        slow=True,
    ),
    Check(
        "audit of a lie", "an audit that finds nothing must mean it", small_audit.lie_is_found, ("audit",), METHOD, True
    ),
)
"""All of them, in the order in which they are run and shown."""


def asked(subject: Subject, *, quick: bool = False) -> list[Check]:
    """The checks for a part."""
    return [check for check in CHECKS if check.at in ("", subject.place.path) and not (quick and check.slow)]


def looked_at(subject: Subject, checks: list[Check], progress: Progress | None = None) -> Iterator[Outcome]:
    """What each check comes to, one after another."""
    failed: set[str] = set()
    for done, check in enumerate(checks):
        if progress is not None:
            progress(done, len(checks))
        outcome = _outcome(subject, check, failed)
        if outcome.status is Status.FAILED or outcome.sentence.startswith(_WAITS):
            failed.add(check.name)
        yield outcome


_WAITS = "waits for"


def _outcome(subject: Subject, check: Check, failed: set[str]) -> Outcome:
    first = next((name for name in check.needs if name in failed), None)
    if first is not None:
        return Outcome(check.name, Status.NOT_APPLICABLE, f"{_WAITS} `{first}`", check.why)
    status, sentence = _looked(subject, check)
    return Outcome(check.name, status, sentence, check.why)


def _looked(subject: Subject, check: Check) -> tuple[Status, str]:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return Status.PASSED, check.look(subject)
    except Failing as found:
        return Status.FAILED, str(found)
    except Inapplicable as reason:
        return Status.NOT_APPLICABLE, str(reason)
    except Exception as error:
        return Status.FAILED, told(error, subject.own_package)


def _kind(subject: Subject) -> str:
    return f"{subject.part.__name__}, for {subject.place.path}"
