// Two runs beside each other: one clock moves both networks.

const data = JSON.parse(byId("data").textContent);
const ticks = { format: short, full: format.figure };
const dark = matchMedia("(prefers-color-scheme: dark)");
const sameMethod = data.runs[0].colours[0] === data.runs[1].colours[0];

/** Each method has its colour; of two runs of one method the second is grey. */
const looks = () => data.runs.map(({ colours }, k) => ({ colour: k && sameMethod ? "var(--soft)" : colours[dark.matches ? 1 : 0], dash: k ? "7 3" : "none" }));
const FIGURES = [
  ["Test error", "test_error", { format: (v) => `${+(100 * v).toFixed(2)}%`, full: format.percent }],
  ["Training loss", "train_loss", ticks],
  ["Bytes on the wire", "wire_bytes", { format: format.bytes, zero: true }],
  ["Proven ε, worst agent", "proven_epsilon", { ...ticks, zero: true }],
];
if (data.runs.some((each) => each.test_error_is)) FIGURES[0][2] = ticks;
const ALONG = {
  t: { label: "seconds", name: "t =", format: format.seconds, ticks: format.seconds },
  round: { label: "round", format: format.count, whole: true },
  wire_bytes: { label: "bytes on the wire", format: format.bytes, ticks: format.bytes },
};

function showCurves() {
  const along = byId("along").value, look = looks();
  byId("curve-charts").replaceChildren();
  for (const [title, key, y] of FIGURES.filter(([, key]) => key !== along)) {
    const series = data.runs.map((each, k) => ({ name: each.called, values: each.rounds[key] ?? [], x: each.rounds[along] ?? [], ...look[k] }))
      .filter((line) => line.values.some((value) => value != null));
    if (!series.length) continue;
    const longest = series.reduce((a, b) => (a.x.length >= b.x.length ? a : b));
    new Chart(byId("curve-charts"), { title, series, y, x: { ...ALONG[along], values: longest.x } });
  }
}

if (data.timeless) byId("along").querySelector("[value=t]").remove();
byId("along").addEventListener("change", showCurves);
dark.addEventListener("change", showCurves);
showCurves();

const replays = data.runs.map((each, k) => new Replay(byId(`canvas-${k}`), each.places, each.links, each.tape));
controlReplay(replays, { stage: byId("stage"), play: byId("play"), scrub: byId("scrub"), speed: byId("speed"), clocks: [byId("clock-0"), byId("clock-1")], timeless: data.timeless });
showKey(byId("replay-key"), replays);
const notes = data.runs.filter((each) => each.tape.flights.share < 1).map((each) => `Of the messages of ${each.called} a sample of 1 in ${Math.round(1 / each.tape.flights.share)} is shown.`);
if (data.timeless) notes.push("These networks take no time: the replay gives every round one second.");
if (notes.length) note("replay-note", notes.join(" "));

const column = (key, title) => ({ key, title, format: format.text, kind: "text" });
showTable(byId("figure-table"), "figures", [column("name", "figure"), column("first", data.runs[0].called), column("second", data.runs[1].called)], data.figures);
