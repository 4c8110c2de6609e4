// The page of a study: trade-offs, small multiples and tables.

const data = JSON.parse(byId("data").textContent);
const { settings, fields, labels } = data;

const share = !(data.runs.test_error_is ?? []).some(Boolean); // otherwise the test error is what the task says
const FIGURES = {
  test_error: share ? { name: "test error", format: (v) => `${+(100 * v).toFixed(2)}%`, full: format.percent } : { name: "test error", format: short, full: format.figure },
  train_loss: { name: "training loss", format: short, full: format.figure },
  consensus: { name: "consensus", format: short, full: format.figure, log: true },
  dual_drift: { name: "dual drift", format: short, full: format.figure, log: true },
  wire_bytes: { name: "bytes on the wire", format: format.bytes, full: format.bytes },
  proven_epsilon: { name: "ε proven", format: short, full: format.figure },
  simulated: { name: "simulated seconds", format: short, full: format.seconds },
  t: { name: "simulated seconds", format: short, full: format.seconds },
  round: { name: "round", format: short, full: format.count },
};
const MARKS = [["constant answer", data.yardsticks.constant], ["optimum", data.yardsticks.optimum], ["best optimum", data.yardsticks.best_optimum]]
  .filter(([, value]) => value != null).map(([name, value]) => ({ name, value }));
FIGURES.test_error.marks = MARKS;
for (const name of data.outputs) FIGURES[name] = { ...FIGURES.test_error, name: name.replaceAll("_", " ") };
const HUES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#8C6BB1"];
const DASHES = ["none", "7 3", "2 3", "9 3 2 3"];
const MOST_PANELS = 24;
const shown = (value) => (typeof value === "number" ? String(+value.toPrecision(6)) : value == null ? "–" : String(value));
/** A setting in words, without fields that are the same everywhere and without those that it does not have. */
function text(i, skipped = -1) {
  const said = data.moving.filter((f) => f !== skipped), there = said.filter((f) => data.values[i][f] != null);
  if (!said.length) return "all settings";
  return there.length ? there.map((f) => `${labels[f]} ${shown(data.values[i][f])}`).join(", ") : `without ${said.map((f) => labels[f]).join(", ")}`;
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

const dark = matchMedia("(prefers-color-scheme: dark)");
const hiddenValues = new Set(); // values of the colouring field that the reader has switched off
const visible = (i) => !hiddenValues.has(data.values[i][by]);
/** Whether numbers are the same to six digits: calibration meets an ε only to nine or ten. */
const constant = (values) => new Set(values.filter((v) => v != null).map((v) => v.toPrecision(6))).size < 2;
let by = data.moving.find((f) => fields[f] === "algorithm.name") ?? data.moving[0] ?? 0;

/** Colour and dash of each value of the field that colours. */
function looks() {
  const values = [...new Set(data.values.map((row) => row[by]))];
  const methods = values.every((value) => value in data.methods);
  return new Map(values.map((value, k) => [value, methods
    ? { colour: data.methods[value][dark.matches ? 1 : 0], dash: "none" }
    : { colour: HUES[k % HUES.length], dash: DASHES[Math.floor(k / HUES.length) % DASHES.length] }]));
}

function showFronts(look) {
  byId("front-charts").replaceChildren();
  for (const { x, y, places } of data.fronts) {
    if (!(x in settings) || !(y in settings)) continue;
    const kept = settings[x].map((v, i) => i).filter((i) => visible(i) && settings[x][i] != null && settings[y][i] != null);
    if (constant(settings[x]) || constant(settings[y])) continue;
    const ends = (name, i) => (settings[`${name}_low`][i] == null ? null : [settings[`${name}_low`][i], settings[`${name}_high`][i]]);
    const points = kept.map((i) => ({ x: settings[x][i], y: settings[y][i], xs: ends(x, i), ys: ends(y, i), name: text(i), colour: look.get(data.values[i][by])?.colour ?? "var(--accent)" }));
    if (!kept.length) continue;
    const [low, high] = extent([points.map((p) => p.x)]);
    new Scatter(byId("front-charts"), { title: capital(`${FIGURES[y].name} against ${FIGURES[x].name}`), points, y: FIGURES[y],
      x: { ...FIGURES[x], label: FIGURES[x].name, ticks: FIGURES[x].format, log: low > 0 && high / low > 20 }, front: places.map((i) => kept.indexOf(i)).filter((i) => i >= 0) });
  }
  const same = [...new Set(data.fronts.flatMap(({ x, y }) => [x, y]))].filter((name) => name in settings && settings[name].some((v) => v != null) && constant(settings[name]));
  byId("constants").hidden = !same.length || data.values.length < 2;
  byId("constants").textContent = `The same in every setting: ${same.map((name) => `${FIGURES[name].name} ${FIGURES[name].full(name === "wire_bytes" ? Math.round(settings[name][0]) : settings[name].find((v) => v != null))}`).join(", ")}.`;
  byId("front-charts").classList.toggle("wide", byId("front-charts").childElementCount % 3 > 0);
  if (!byId("front-charts").childElementCount && byId("constants").hidden) byId("front-charts").append(element("p", { className: "note" }, "All settings spent the same: there is nothing to trade."));
}

/** A panel for each combination of the other fields, a line for each value of the field that colours. */
function showMultiples(look) {
  const up = byId("up").value, along = byId("along").value, panels = new Map();
  data.curves.forEach((curve, i) => {
    if (!visible(i)) return;
    const title = text(i, by);
    if (!panels.has(title)) panels.set(title, []);
    panels.get(title).push(i);
  });
  byId("multiple-charts").replaceChildren();
  const range = extent(data.curves.flatMap((curve) => [curve[up] ?? [], curve[`${up}_low`] ?? [], curve[`${up}_high`] ?? []]));
  const y = { ...FIGURES[up], within: range };
  for (const [title, places] of [...panels].slice(0, MOST_PANELS)) {
    const series = places.filter((i) => data.curves[i][along]?.some((v) => v != null)).map((i) => {
      const { colour, dash } = look.get(data.values[i][by]) ?? { colour: "var(--accent)", dash: "none" };
      const curve = data.curves[i];
      return { name: fields.length ? shown(data.values[i][by]) : "mean", values: curve[up], x: curve[along], low: curve[`${up}_low`], high: curve[`${up}_high`], colour, dash };
    });
    if (!series.length) continue;
    const longest = series.reduce((a, b) => (a.x.length >= b.x.length ? a : b));
    new Chart(byId("multiple-charts"), { title, series, y, x: { label: FIGURES[along].name, ticks: FIGURES[along].format, values: longest.x, format: FIGURES[along].full, whole: along === "round" } });
  }
  const notes = [];
  if (panels.size > MOST_PANELS) notes.push(`The first ${MOST_PANELS} of ${format.count(panels.size)} panels.`);
  if (data.curves.length < data.values.length) notes.push(`Curves of the first ${format.count(data.curves.length)} of ${format.count(data.values.length)} settings.`);
  byId("multiples-note").hidden = !notes.length;
  byId("multiples-note").textContent = notes.join(" ");
}

function show() {
  const look = looks();
  byId("colour-key").replaceChildren(...(fields.length ? [...look].map(([value, { colour, dash }]) => {
    const button = element("button", { type: "button", className: "switch", ariaPressed: String(!hiddenValues.has(value)) },
      drawn("svg", { viewBox: "0 0 18 14", "aria-hidden": "true" }, drawn("line", { x1: 0, x2: 18, y1: 8, y2: 8, "stroke-width": 3, "stroke-dasharray": dash, style: `stroke:${colour}` })), shown(value));
    button.addEventListener("click", () => { if (!hiddenValues.delete(value)) hiddenValues.add(value); show(); });
    return element("li", {}, button);
  }) : []));
  showFronts(look);
  showMultiples(look);
}

const option = (value, name) => element("option", { value }, name);
byId("colour").append(...data.moving.map((f) => option(f, labels[f])));
byId("colour").value = by;
byId("up").append(...["test_error", ...data.outputs, "train_loss", "dual_drift", "consensus"].filter((name) => name === "test_error" || !constant(data.curves.flatMap((curve) => curve[name] ?? []))).map((name) => option(name, FIGURES[name].name)));
byId("along").append(...["round", "t", "wire_bytes", "proven_epsilon"].filter((name) => name === "round" || !constant(data.curves.flatMap((curve) => curve[name] ?? []))).map((name) => option(name, FIGURES[name].name)));
byId("colour").addEventListener("change", (event) => { by = Number(event.target.value); hiddenValues.clear(); show(); });
for (const id of ["up", "along"]) byId(id).addEventListener("change", show);
dark.addEventListener("change", show);
show();

const column = (key, title, how = format.count, kind = "") => ({ key, title, format: how, kind });
const varied = fields.map((field, f) => column(field, labels[f], shown, data.values.every((row) => typeof row[f] === "number") ? "" : "text"));
const figures = [...["test_error", ...data.outputs].map((name) => column(name, FIGURES[name].name, FIGURES[name].full)), column("train_loss", "loss", format.figure), column("wire_bytes", "bytes", (v) => format.bytes(v == null ? v : Math.round(v))),
  column("proven_epsilon", "ε proven", format.figure), column("claimed_epsilon", "ε claimed", format.figure), column("declared_epsilon", "ε declared", format.figure), column("simulated", "seconds", format.figure), column("staleness_mean", "staleness", format.figure), column("airtime_sent", "airtime, s", format.figure), column("joules", "joules", format.figure)];
const spread = (each) => ({ ...each, format: (v, i) => {
  const low = settings[`${each.key}_low`]?.[i];
  const half = low == null ? 0 : v - low;
  return half > 1e-6 * Math.abs(v) ? `${each.format(v)} ± ${each.format(half)}` : each.format(v);
} });
showTable(byId("setting-table"), `${data.name}-settings`, [...varied, column("seeds", "seeds"), column("front", "front", format.text, "text"), ...figures.map(spread)], settings);
showTable(byId("run-table"), `${data.name}-runs`, [column("run", "run"), ...varied, column("seed", "seed"), ...figures, column("messages", "messages"), column("lost", "lost"),
  column("skips", "skips"), column("digest", "digest", (v) => (v ?? "–").slice(0, 12), "text")], data.runs);
if (data.failures.error?.length) {
  byId("failed").hidden = false;
  showTable(byId("failure-table"), `${data.name}-failures`, [column("run", "run"), ...varied, column("seed", "seed"), column("error", "error", format.text, "long")], data.failures);
}

const COSTS = { bytes: format.bytes, seconds: format.seconds, rounds: shown, joules: (v) => `${format.figure(v)} J`, epsilon: format.figure };

/** What the target of the slider costs, as a sentence and a table: all of it was computed when the page was made. */
function showReach() {
  const { targets, costs, answers, reached, medians } = data.reach;
  const at = Number(byId("target").value), cost = byId("cost").value;
  byId("target-told").textContent = FIGURES.test_error.full(targets[at]);
  byId("target").setAttribute("aria-valuetext", FIGURES.test_error.full(targets[at]));
  byId("reach-answer").textContent = answers[cost][at];
  const spent = (name) => (v, i) => {
    if (v == null) return "–";
    const [, low, high] = medians[name][at][i], end = (e) => (e == null ? "…" : COSTS[name](e));
    return low == null ? COSTS[name](v) : `${COSTS[name](v)} (${end(low)} to ${end(high)})`;
  };
  const order = data.values.map((_, i) => i).sort((i, j) => compared(medians[cost][at][i][0], medians[cost][at][j][0]) || reached[at][j] - reached[at][i] || i - j);
  const table = Object.fromEntries(fields.map((field, f) => [field, data.values.map((row) => row[f])]));
  table.reach = data.values.map((_, i) => reached[at][i]);
  const key = (name) => (name === "rounds" ? "in_round" : name); // a study may vary the field `rounds`
  for (const name of costs) ["", "_low", "_high"].forEach((end, e) => { table[key(name) + end] = data.values.map((_, i) => medians[name][at][i][e]); });
  byId("reach-table").replaceChildren();
  showTable(byId("reach-table"), `${data.name}-target-${targets[at]}`, [...varied, column("reach", "reach it", (v, i) => `${v} of ${data.reach.runs[i]}`),
    ...costs.map((name) => column(key(name), { epsilon: "ε", rounds: "in round" }[name] ?? name, spent(name)))], table, order);
}

if (data.reach) {
  byId("cost").append(...data.reach.costs.map((name) => option(name, name === "epsilon" ? "ε" : name)));
  byId("target").max = data.reach.targets.length - 1;
  byId("target").value = data.reach.start;
  byId("target").addEventListener("input", showReach);
  byId("cost").addEventListener("change", showReach);
  showReach();
} else byId("reach").hidden = true;
