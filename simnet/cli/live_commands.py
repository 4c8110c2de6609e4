"""The commands of live runs: `simnet live`, `simnet live init`, `simnet live merge` and `simnet agent`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simnet.cli.options import File, Json, Out, Seed, Set, Verbose, load
from simnet.cli.output import say

if TYPE_CHECKING:
    from simnet.live.fleet import Fleet
    from simnet.scenario import Scenario

Shim = Annotated[
    bool, typer.Option(help="Give messages and local work the times, and the losses, that the scenario says.")
]


def run(
    file: File,
    shim: Shim = True,
    tls: Annotated[bool, typer.Option(help="Speak mutual TLS, as agents on different hosts do.")] = True,
    compare: Annotated[bool, typer.Option("--compare", help="Also simulate it, and show both side by side.")] = False,
    sets: Set = None,
    seed: Seed = None,
    out: Out = Path("runs"),
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Run every agent as a process of this machine. The word `run` may be left out."""
    from simnet import simulate
    from simnet.cli.terminal import live_table, progress, run_table, show, show_json
    from simnet.live import run as live

    scenario = load(file, sets, seed)
    fleets: list[Fleet] = []
    with progress(scenario.name, quiet=json or verbose) as tell:
        result = live.run(scenario, out, shim=shim, tls=tls, progress=tell, watch=fleets.append)
    simulated = simulate.run(scenario, out) if compare else None
    if json:
        both = {} if simulated is None else {"simulated": simulated.summary, "live": result.summary}
        show_json(both or result.summary)
        return
    show(run_table(result, live=True) if simulated is None else live_table(simulated, result))
    for fleet in fleets:
        if fleet.restarts:
            say(f"agents were killed and restarted {fleet.restarts} times")
        for reason, count in sorted(fleet.refusals.items()):
            say(f"refused, {reason}: {count}")
    say(f"took {result.summary['time']['wall']:.2f} s; run folder: {result.folder}")


def init(
    folder: Annotated[Path, typer.Argument(help="Folder for the certificates.", metavar="DIR")],
    agents: Annotated[int | None, typer.Option(help="How many agents; or --scenario.")] = None,
    scenario: Annotated[Path | None, typer.Option(help="Take the number from a scenario.")] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(help="Also name this agent's host in its certificate; may be repeated.", metavar="AGENT=HOST"),
    ] = None,
) -> None:
    """Make the certificates of a deployment. One authority, and one certificate per agent."""
    from simnet.errors import LiveError
    from simnet.live import certificates

    if agents is not None and scenario is None:
        count = agents
    elif scenario is not None and agents is None:
        count = _agents(load(scenario, None, None))
    else:
        raise LiveError("give either --agents or --scenario: a deployment has a certificate for each agent")
    hosts: dict[int, str] = {}
    for entry in host or []:
        agent, found, name = entry.partition("=")
        if not found or not agent.isdigit() or int(agent) >= count or not name:
            raise LiveError(f"--host {entry}: should be AGENT=HOST, as in 0=10.0.0.1, with an agent below {count}")
        hosts[int(agent)] = name
    certificates.init(folder, range(count), hosts)
    say(f"wrote {folder}: ca.pem for every host, agent-N.pem and agent-N.key for the host of agent N alone")


def _agents(scenario: Scenario) -> int:
    from simnet.build import draw_graph

    return draw_graph(scenario).number_of_nodes()


def merge(
    folders: Annotated[list[Path], typer.Argument(help="The state folders of all agents.", metavar="DIR")],
    file: Annotated[
        Path | None, typer.Option("--scenario", help="The scenario; default: as the agents kept it.")
    ] = None,
    out: Out = Path("runs"),
    json: Json = False,
) -> None:
    """Make one run folder from the journals of separate agents."""
    from simnet.cli.terminal import run_table, show, show_json
    from simnet.live import run as live
    from simnet.live.agent_folder import SCENARIO

    scenario = load(file or folders[0] / SCENARIO, None, None)
    result = live.merged(folders, scenario, out)
    if json:
        show_json(result.summary)
    else:
        show(run_table(result, live=True))
        say(f"run folder: {result.folder}")


def agent(
    file: File,
    id: Annotated[int, typer.Option("--id", help="Which agent to be.")],
    peers: Annotated[Path, typer.Option(help="Where each agent listens (TOML).")],
    state: Annotated[Path, typer.Option(help="The agent's own folder; a restart goes on from it.")],
    certificates: Annotated[
        Path | None, typer.Option(help="Folder of ca.pem and the agent's certificate; none: loopback only.")
    ] = None,
    listen: Annotated[str | None, typer.Option(help="HOST:PORT; default: its port in the peer file, loopback.")] = None,
    shim: Shim = False,
    noise: Annotated[
        str, typer.Option(help="`own`: from a secret that the agent draws; `scenario`: from the seed, to reproduce.")
    ] = "own",
    linger: Annotated[float, typer.Option(help="Seconds to wait for the neighbours at the end, at most.")] = 60.0,
    without: Annotated[
        list[int] | None,
        typer.Option(help="Do not wait for this agent, which is gone for good; may be repeated.", metavar="AGENT"),
    ] = None,
    sets: Set = None,
    seed: Seed = None,
    verbose: Verbose = False,
) -> None:
    """Run one agent on a host of its own. A deployment is one such command per agent."""
    from simnet.errors import LiveError
    from simnet.live import standalone
    from simnet.live.agent import Placement

    if noise not in ("own", "scenario"):
        raise LiveError(f"--noise {noise}: must be own or scenario")
    scenario = load(file, sets, seed)
    run, addresses = standalone.load_peers(peers, _agents(scenario))
    if id not in addresses:
        raise LiveError(f"--id {id}: the agents are 0 to {len(addresses) - 1}")
    here = ("127.0.0.1", addresses[id][1]) if listen is None else standalone.read_address(listen, "--listen")
    gone = frozenset(without or ())
    if not gone <= set(addresses) - {id}:
        raise LiveError(f"--without {min(gone - set(addresses) | gone & {id})}: should be one of the other agents")
    placement = Placement(id, state, run, here, addresses, certificates, shim, noise == "own", gone)
    to_the_end = standalone.run(
        scenario, placement, linger=linger, say=lambda text: say(f"agent {id}: {text}", err=True)
    )
    if not to_the_end:
        say(f"agent {id}: stopped; the same command goes on", err=True)
        raise typer.Exit(143)
