// The page of a run: which charts and tables it has, and what they are made of.

const data = JSON.parse(byId("data").textContent);
const { rounds, flow, tape } = data;
const accent = "var(--accent)", second = "var(--soft)";
const timeless = data.simulated === 0;

const axes = {
  round: { label: "round", values: rounds.round ?? [], format: format.count, whole: true },
  t: { label: "seconds", name: "t =", values: rounds.t ?? [], format: format.seconds },
};
const curve = (title, series, y) => ({ title, y, x: axes.round, series: series.map(([name, key, colour, dash]) => ({ name, values: rounds[key] ?? [], colour, dash })) });
const words = (name) => name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");
const ticks = { format: short, full: format.figure };
const heldAgainst = ({ constant, optimum }) => ({ within: optimum == null ? [] : [optimum],
  marks: [["constant answer", constant], ["optimum", optimum]].filter(([, value]) => value != null).map(([name, value]) => ({ name, value })) });
// The errors of several outputs stand in one chart: the accent is what counts, the others get fainter in their order.
const beside = data.measures.filter((name) => name.startsWith("test_error_"));
const faint = (i) => `color-mix(in srgb, var(--soft) ${100 - Math.round((60 * i) / beside.length)}%, transparent)`;
const errors = [[beside.length ? data.output ?? "last" : "mean over agents", "test_error", accent],
  ...beside.map((name, i) => [words(name.slice("test_error_".length)), name, faint(i), `${2 + 2 * i} 3`])];
const curves = [
  curve(data.test_error_is ? `Test error: ${data.test_error_is}` : "Test error", errors,
    { ...(data.test_error_is ? ticks : { format: (v) => `${+(100 * v).toFixed(2)}%`, full: format.percent }), ...heldAgainst(data.yardsticks) }),
  ...data.measures.filter((name) => !beside.includes(name)).map((name) => curve(words(name), [["all agents", name in rounds ? name : `measure_${name}`, accent]], ticks)),
  curve("Loss", [["training loss", "train_loss", accent], ["objective", "objective", second, "5 3"]], ticks),
  curve("Bytes sent", [["on the wire", "wire_bytes", accent], ["payload", "payload_bytes", second, "5 3"]], { format: format.bytes, zero: true }),
  curve("ε spent, worst agent", [["proven", "proven_epsilon", accent], ["claimed", "claimed_epsilon", second, "5 3"], ["declared", "declared_epsilon", second, "2 3"]].filter(([, key]) => key in rounds), { ...ticks, zero: true, reference: data.budget }),
  curve("Disagreement, logarithmic", [["consensus", "consensus", accent], ["dual drift", "dual_drift", second, "5 3"]], { ...ticks, log: true }),
  curve("Staleness of used values", [["mean", "staleness_mean", accent], ["95th percentile", "staleness_p95", second, "5 3"]], { ...ticks, zero: true }),
].filter((spec) => spec.series.some((line) => line.values.some((value) => value != null))) // published records have no loss
  .map((spec) => new Chart(byId("curve-charts"), spec));

const axis = byId("axis");
axis.addEventListener("change", (event) => curves.forEach((chart) => chart.update({ x: axes[event.target.value] })));
if (timeless) axis.querySelector("[value=t]").disabled = true;
if ((rounds.round ?? []).length < data.rounds_in_all) note("thinned", `The curves show ${format.count(rounds.round.length)} of ${format.count(data.rounds_in_all)} rounds.`);

const middles = (edges) => edges.slice(1).map((edge, i) => (edge + edges[i]) / 2);
const interval = { label: "simulated seconds", name: "around", values: middles(flow.edges), format: format.seconds };
const instant = { label: "the run takes no time", name: "", values: [0], format: () => "" };
const counts = { format: short, full: format.count };
const fateSeries = ["delivered", "lost", "overflowed", "unreachable", "refused"].filter((fate) => fate === "delivered" || flow[fate].some(Boolean))
  .map((fate) => ({ name: fate, values: flow[fate], colour: `var(--${fate})` }));
const each = (list) => list.map((value, i) => value - (i ? list[i - 1] : 0));
const between = (values) => (values.length ? [values[0] - 0.5, ...values.slice(1).map((v, i) => (v + values[i]) / 2), values.at(-1) + 0.5] : []);
new Chart(byId("message-charts"), { title: timeless ? "Fates of messages" : `Fates of messages in each ${+flow.edges[1].toPrecision(2)} s`, bars: true, y: counts,
  x: timeless ? instant : interval, edges: timeless ? [-0.5, 0.5] : flow.edges, series: fateSeries });
if (!timeless) {
  new Chart(byId("message-charts"), { title: "Most messages queued or in flight at once", bars: true, peak: true, y: counts, x: interval, edges: flow.edges,
    series: [{ name: "at most", values: flow.under_way, colour: "var(--flying)" }] });
}
new Chart(byId("message-charts"), { title: "Broadcasts and skips in each round", bars: true, y: counts, x: axes.round, edges: between(axes.round.values), series: [
  { name: "broadcasts", values: each(rounds.broadcasts ?? []), colour: "var(--delivered)" },
  { name: "skips", values: each(rounds.skips ?? []), colour: "var(--overflowed)" }] });
const oldest = Math.max(0, ...data.staleness.value);
const ages = Array.from({ length: oldest + 1 }, (_, age) => age);
new Chart(byId("message-charts"), { title: "Staleness of all used values", bars: true, y: counts, edges: between(ages),
  x: { label: "rounds old; 0 is fresh", name: "rounds old:", values: ages, format: format.count, whole: true },
  series: [{ name: "values", values: ages.map((age) => data.staleness.count[data.staleness.value.indexOf(age)] ?? 0), colour: accent }] });

const graph = new Graph(byId("graph"), data.places, data.links);
graph.colour("messages");
byId("tint").addEventListener("change", (event) => graph.colour(event.target.value));
const linkCount = data.links.a?.length ?? 0;
if (linkCount < data.links_in_all) note("links-note", `The ${format.count(linkCount)} links with the most messages, of ${format.count(data.links_in_all)}.`);

const column = (key, title, how = format.count, kind = "") => ({ key, title, format: how, kind });
const rare = (key, title = key) => ({ ...column(key, title), rare: true });
showTable(byId("link-table"), `${data.name}-links`, [column("a", "from"), column("b", "to"), column("messages", "messages"),
  column("failed_share", "failed", format.percent), column("wire_bytes", "bytes", format.bytes), rare("lost"), rare("overflowed"),
  rare("unreachable"), rare("refused"), rare("retransmissions", "repeated")], data.links);
if (data.agents_step > 1) note("agents-note", `One agent in ${data.agents_step} is listed, here and among the accounts; agents.csv in the run folder has all.`);
showTable(byId("agent-table"), `${data.name}-agents`, [column("agent", "agent"), column("rows", "rows"), column("degree", "degree"),
  column("test_error", "test error", data.test_error_is ? format.figure : format.percent), column("train_loss", "loss", format.figure), column("proven_epsilon", "ε proven", format.figure),
  column("claimed_epsilon", "ε claimed", format.figure), column("declared_epsilon", "ε declared", format.figure), column("broadcasts", "sent"), rare("skips"), column("messages", "messages"),
  column("delivered", "delivered"), rare("lost"), rare("overflowed"), rare("unreachable"), rare("refused"), rare("retransmissions", "repeated"),
  column("wire_bytes", "bytes", format.bytes), column("staleness_mean", "staleness", format.figure), column("airtime", "airtime, s", format.figure), column("rounds", "rounds")], data.agents);

showPrivacy();
showReplay();
byId("save-scenario").addEventListener("click", () => save("scenario.toml", data.toml, "application/toml"));
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));

function showPrivacy() {
  const epsilon = [column("proven_epsilon", "ε proven", format.figure), column("claimed_epsilon", "ε claimed", format.figure), column("declared_epsilon", "ε declared", format.figure)];
  showTable(byId("account-table"), `${data.name}-accounts`, [column("agent", "agent"), column("charges", "charges"), ...epsilon,
    ...(new Set(data.accounts.basis).size > 1 ? [column("basis", "basis", format.text, "long")] : [])], data.accounts);
  showTable(byId("kind-table"), `${data.name}-mechanisms`, [column("mechanism", "mechanism", format.text, "text"), column("spent_on", "paid for", format.text, "text"),
    column("agents", "agents", format.text, "text"), column("rounds", "rounds", format.text, "text"), column("charges", "charges"), column("times", "uses"),
    column("parameters", "numbers", format.text, "long"), column("theorem", "theorem", format.text, "long")], data.kinds);
  showTable(byId("charge-table"), `${data.name}-charges`, [column("round", "round"), column("agent", "agent"), column("spent_on", "paid for", format.text, "text"),
    column("mechanism", "mechanism", format.text, "text"), column("times", "uses"), ...epsilon], data.charges);
  if ((data.charges.agent ?? []).length < data.charges_in_all) {
    note("charges-note", `The first ${format.count(data.charges.agent.length)} of ${format.count(data.charges_in_all)} charges are listed; the totals count all of them.`);
  }
  const nearby = Object.entries(data.observers?.agent_by_distance ?? {}).map(([links, epsilon]) => [Number(links), epsilon]);
  if (nearby.length) {
    new Chart(byId("privacy-charts"), { title: "Largest ε against one other agent, by distance", bars: true, peak: true, edges: between(nearby.map(([links]) => links)),
      x: { label: "links between observer and observed", name: "links:", values: nearby.map(([links]) => links), format: format.count, whole: true },
      y: { ...ticks, zero: true, reference: data.observers.eavesdropper }, series: [{ name: "ε", values: nearby.map(([, epsilon]) => epsilon), colour: accent }] });
  }
  for (const [key, title] of [["proven_epsilon", "Proven ε of every agent"], ["claimed_epsilon", "Claimed ε of every agent"], ["declared_epsilon", "Declared ε of every agent"]]) {
    const lines = spentByRound(key);
    if (lines) new Chart(byId("privacy-charts"), { title, x: axes.round, y: { ...ticks, zero: true }, series: lines });
  }
}

/** ε after each round, one line per agent; for many agents only the most and the least that any of them had spent. */
function spentByRound(key) {
  const { agent = [], round = [], [key]: values = [] } = data.charges;
  if (!agent.length || values.every((v) => v == null) || agent.length < data.charges_in_all) return null;
  const of = new Map();
  agent.forEach((who, i) => { if (!of.has(who)) of.set(who, new Map()); of.get(who).set(round[i], values[i]); });
  const all = Array.from({ length: data.places.length }, (_, who) => {
    let spent = 0;
    let last = 0;
    const own = [...(of.get(who) ?? new Map())].sort((a, b) => a[0] - b[0]);
    return axes.round.values.map((r) => { while (last < own.length && own[last][0] <= r) spent = own[last++][1]; return spent; });
  });
  const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
  if (all.length <= palette.length) return all.map((values, who) => ({ name: `agent ${who}`, values, colour: palette[who], dash: ["none", "7 3", "2 3", "9 3 2 3", "5 2", "1 2"][who] }));
  const edge = (pick) => axes.round.values.map((_, i) => { const at = all.map((v) => v[i]); return at.some((v) => v == null) ? null : at.reduce((a, b) => pick(a, b)); });
  return [{ name: "most", values: edge(Math.max), colour: accent }, { name: "least", values: edge(Math.min), colour: second, dash: "5 3" }];
}

function showReplay() {
  const notes = [];
  if (tape.timeless) notes.push("This network takes no time: the replay gives every round one second.");
  if (tape.flights.share < 1) notes.push(`Of the messages a sample of 1 in ${Math.round(1 / tape.flights.share)} is shown, and the clock counts only those.`);
  if (tape.turns.share < 1) notes.push(`Of the agents 1 in ${Math.round(1 / tape.turns.share)} is animated.`);
  if (notes.length) note("replay-note", notes.join(" "));
  const replay = new Replay(byId("canvas"), data.places, data.links, tape);
  controlReplay([replay], { stage: byId("stage"), play: byId("play"), scrub: byId("scrub"), speed: byId("speed"), clocks: [byId("clock")], timeless: tape.timeless });
  showKey(byId("replay-key"), [replay]);
}
