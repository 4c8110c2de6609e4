// The replay: a picture of the network at any simulated time, a pure function of that time, drawn on a canvas.

const FATE = { underWay: 0, delivered: 1, lost: 2, overflowed: 3, unreachable: 4, refused: 5 };
const ACT = { silent: 0, broadcast: 1, skip: 2 };
const ENDS = { [FATE.underWay]: 0.9, [FATE.delivered]: 1, [FATE.lost]: 0.5, [FATE.overflowed]: 0.14, [FATE.unreachable]: 0.86, [FATE.refused]: 0.95 };
const SHORTEST = 0.3;   // seconds of watching that a flight takes at least, or nobody would see it
const BURST = 0.6;      // seconds of watching that a loss stays visible

class Replay {
  constructor(canvas, places, links, tape) {
    this.canvas = canvas;
    this.places = places;
    this.links = links;
    this.end = tape.end;
    this.faults = tape.faults;
    this.flights = unpacked(tape.flights, { sent: Float64Array, lasts: Float32Array, from: Uint32Array, to: Uint32Array, fate: Uint8Array });
    this.turns = unpacked(tape.turns, { agent: Uint32Array, round: Uint32Array, began: Float64Array, acted: Float64Array, ended: Float64Array, act: Uint8Array, staleness: Float32Array });
    this.longest = this.flights.lasts.reduce((most, each) => Math.max(most, each), 0);
    this.turnsOf = places.map(() => []);
    for (let i = 0; i < tape.turns.count; i++) this.turnsOf[this.turns.agent[i]].push(i);
    this.met = Object.fromEntries(Object.values(FATE).map((fate) => [fate, []]));
    this.flights.fate.forEach((fate, i) => this.met[fate >> 1].push(this.flights.sent[i] + this.flights.lasts[i]));
    for (const times of Object.values(this.met)) times.sort((a, b) => a - b);
    let rounds = 1;
    for (const round of this.turns.round) rounds = Math.max(rounds, round);
    this.rounds = rounds;
    this.rate = this.end / Math.min(60, Math.max(12, rounds)) || 1;   // simulated seconds per second of watching
    this.time = 0;
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.resize());
  }

  resize() {
    const { canvas } = this;
    const ratio = this.ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    this.pen = canvas.getContext("2d");
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const margin = 30;
    this.at = this.places.map(([x, y]) => [margin + x * (width - 2 * margin), margin + y * (height - 2 * margin)]);
    const style = getComputedStyle(canvas);
    this.ink = Object.fromEntries(["card", "ink", "soft", "line", "flying", "low", "delivered", "lost", "overflowed", "unreachable", "refused"].map((name) => [name, style.getPropertyValue(`--${name}`)]));
    this.ground = null;
    this.radius = this.places.length <= 60 ? 12 : this.places.length <= 300 ? 6 : 3;
    this.draw(this.time);
  }

  /** How many messages of a fate have met it. */
  count(fate, time) { return upTo(this.met[fate], time); }

  draw(time) {
    this.time = time;
    const { pen, canvas } = this;
    if (!pen) return;
    const { width, height } = canvas;
    pen.clearRect(0, 0, width, height);
    const down = this.faults.filter((fault) => fault.began <= time && (fault.ended === null || time < fault.ended));
    const cuts = down.filter((fault) => fault.peer !== null || fault.agents);
    const broken = cuts.map((fault) => this.faults.indexOf(fault)).join();
    if (!this.ground || this.ground.broken !== broken) this.ground = { broken, picture: this.linksPicture(cuts) };
    pen.drawImage(this.ground.picture, 0, 0, width / this.ratio, height / this.ratio);
    this.drawFlights(time);
    const struck = (kind) => new Set(down.filter((fault) => fault.fault === kind).map((fault) => fault.agent));
    this.drawAgents(time, struck("crash"), struck("straggler"));
  }

  /** What is broken, in words. */
  faultsAt(time) {
    const now = this.faults.filter((fault) => fault.began <= time && (fault.ended === null || time < fault.ended));
    return now.map(({ fault, agent, peer }) => [fault, agent === null ? "" : peer === null ? ` ${agent}` : ` ${agent}–${peer}`].join(""));
  }

  /** The links change seldom, and there may be thousands: they are drawn once, and again when one breaks or heals. */
  linksPicture(cuts) {
    const sides = cuts.filter((fault) => fault.agents).map((fault) => new Set(fault.agents));
    const pairs = new Set(cuts.filter((fault) => fault.peer !== null).flatMap(({ agent, peer }) => [`${agent}-${peer}`, `${peer}-${agent}`]));
    const isCut = (a, b) => pairs.has(`${a}-${b}`) || sides.some((side) => side.has(a) !== side.has(b));
    const { links, at, canvas, ratio } = this;
    const picture = new OffscreenCanvas(Math.max(1, canvas.width), Math.max(1, canvas.height));
    const pen = picture.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.lineWidth = 1;
    pen.strokeStyle = this.ink.low;
    for (const isBroken of [false, true]) {
      pen.setLineDash(isBroken ? [2, 5] : []);
      pen.beginPath();
      for (let i = 0; i < (links.a?.length ?? 0); i++) {
        if (isCut(links.a[i], links.b[i]) !== isBroken) continue;
        pen.moveTo(...at[links.a[i]]);
        pen.lineTo(...at[links.b[i]]);
      }
      pen.stroke();
    }
    return picture;
  }

  drawFlights(time) {
    const { pen, flights, rate, ink } = this;
    const least = SHORTEST * rate, burst = BURST * rate;
    const first = upTo(flights.sent, time - Math.max(this.longest, least) - burst), last = upTo(flights.sent, time);
    const crowd = last - first > 1500;
    const trails = new Path2D(), heads = new Path2D(), rings = new Path2D();
    const bursts = { [FATE.lost]: [], [FATE.overflowed]: [], [FATE.unreachable]: [], [FATE.refused]: [] };
    for (let i = first; i < last; i++) {
      const fate = flights.fate[i] >> 1, notice = flights.fate[i] & 1, sent = flights.sent[i];
      const lasts = Math.max(flights.lasts[i], fate === FATE.overflowed ? 0 : least), stop = ENDS[fate];
      const age = time - sent - lasts;
      if (age <= 0) {
        const p = ((time - sent) / lasts) * stop;
        const [x, y] = this.on(i, p);
        trails.moveTo(...this.on(i, Math.max(0, p - 0.09)));
        trails.lineTo(x, y);
        if (notice) { rings.moveTo(x + 2.5, y); rings.arc(x, y, 2.5, 0, 7); } else if (!crowd) { heads.moveTo(x + 2.6, y); heads.arc(x, y, 2.6, 0, 7); }
      } else if (age < burst && bursts[fate]) bursts[fate].push([...this.on(i, stop), age / burst]);
    }
    pen.lineCap = crowd ? "butt" : "round";
    pen.lineWidth = crowd ? 1.5 : 2.2;
    pen.strokeStyle = ink.delivered;
    pen.globalAlpha = 0.75;
    pen.stroke(trails);
    pen.globalAlpha = 1;
    pen.fillStyle = ink.delivered;
    pen.fill(heads);
    pen.lineWidth = 1.2;
    pen.stroke(rings);
    this.burst(bursts[FATE.lost], ink.lost, 8, 0);
    this.burst(bursts[FATE.overflowed], ink.overflowed, 4, Math.PI / 4);
    this.burst(bursts[FATE.unreachable], ink.unreachable, 4, 0);
    this.burst(bursts[FATE.refused], ink.refused, 6, 0);
  }

  /** A point on a flight's way, a little to the right of the line, so that two directions have a lane each. */
  on(i, p) {
    const [x1, y1] = this.at[this.flights.from[i]], [x2, y2] = this.at[this.flights.to[i]];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1, lane = 3 / length;
    return [x1 + (x2 - x1) * p - (y2 - y1) * lane, y1 + (y2 - y1) * p + (x2 - x1) * lane];
  }

  /** Rays that fly apart and fade; their number tells the fates apart without colour. */
  burst(list, colour, rays, turn) {
    const { pen } = this;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    for (const [x, y, age] of list) {
      pen.globalAlpha = 1 - age;
      pen.beginPath();
      for (let k = 0; k < rays; k++) {
        const angle = turn + (k * 2 * Math.PI) / rays, inner = 2 + 7 * age, outer = 5 + 9 * age;
        pen.moveTo(x + inner * Math.cos(angle), y + inner * Math.sin(angle));
        pen.lineTo(x + outer * Math.cos(angle), y + outer * Math.sin(angle));
      }
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  drawAgents(time, crashed, slow) {
    if (this.radius <= 6) this.drawCrowd(time, crashed);
    else this.drawDiscs(time, crashed, slow);
  }

  /** How strongly an agent is inked: the staler what it used last, the fainter. */
  strength(turn) {
    return turn === null ? 1 : Math.max(0.12, 1 / (1 + 0.45 * this.turns.staleness[turn]));
  }

  /** Hundreds of agents: dots in a few strengths, each strength in one stroke of the pen; a skip is a ring. */
  drawCrowd(time, crashed) {
    const { pen, at, ink, radius, turns } = this;
    const levels = 5, dots = Array.from({ length: levels + 1 }, () => new Path2D()), rings = new Path2D(), gone = new Path2D();
    at.forEach(([x, y], agent) => {
      const [now, before] = this.turnAt(agent, time);
      const skips = now !== null && time >= turns.acted[now] && turns.act[now] === ACT.skip;
      const path = crashed.has(agent) ? gone : skips ? rings : dots[Math.round(levels * this.strength(before))];
      path.moveTo(x + radius, y);
      path.arc(x, y, radius, 0, 7);
    });
    pen.lineWidth = 1.2;
    pen.strokeStyle = ink.soft;
    pen.fillStyle = ink.ink;
    dots.forEach((path, level) => { pen.globalAlpha = Math.max(0.12, level / levels); pen.fill(path); });
    pen.globalAlpha = 1;
    pen.stroke(rings);
    pen.strokeStyle = ink.lost;
    pen.stroke(gone);
  }

  drawDiscs(time, crashed, slow) {
    const { pen, at, ink, radius, turns, rate } = this;
    pen.font = `550 ${radius}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    at.forEach(([x, y], agent) => {
      const [now, before] = this.turnAt(agent, time);
      const acted = now !== null && time >= turns.acted[now] ? turns.act[now] : ACT.silent;
      const since = now === null ? 1 : (time - turns.acted[now]) / (BURST * rate);
      pen.globalAlpha = 1;
      pen.beginPath();
      pen.arc(x, y, radius, 0, 7);
      pen.fillStyle = ink.card;
      pen.fill();
      const strength = this.strength(before);
      if (acted !== ACT.skip && !crashed.has(agent)) {
        pen.globalAlpha = strength;
        pen.fillStyle = ink.ink;
        pen.fill();
        pen.globalAlpha = 1;
      }
      pen.lineWidth = 1.6;
      pen.strokeStyle = crashed.has(agent) ? ink.lost : ink.soft;
      pen.setLineDash(acted === ACT.skip ? [3, 3] : []);
      pen.stroke();
      pen.setLineDash([]);
      if (acted === ACT.broadcast && since < 1) {
        pen.globalAlpha = 0.6 * (1 - since);
        pen.strokeStyle = ink.delivered;
        pen.beginPath();
        pen.arc(x, y, radius + 2 + 10 * since, 0, 7);
        pen.stroke();
        pen.globalAlpha = 1;
      }
      if (slow.has(agent)) {
        pen.strokeStyle = ink.overflowed;
        pen.setLineDash([1, 3]);
        pen.beginPath();
        pen.arc(x, y, radius + 4, 0, 7);
        pen.stroke();
        pen.setLineDash([]);
      }
      if (crashed.has(agent)) {
        const d = radius * 0.7;
        pen.beginPath();
        pen.moveTo(x - d, y - d); pen.lineTo(x + d, y + d); pen.moveTo(x + d, y - d); pen.lineTo(x - d, y + d);
        pen.strokeStyle = ink.lost;
        pen.stroke();
      } else {
        pen.fillStyle = acted !== ACT.skip && strength > 0.5 ? ink.card : ink.ink;
        pen.fillText(String(agent), x, y + 0.5);
      }
    });
  }

  /** The agent's turn at a time, and the last one that it has finished; null where there is none. */
  turnAt(agent, time) {
    const own = this.turnsOf[agent], { began, ended } = this.turns;
    let low = 0, high = own.length;
    while (low < high) { const middle = (low + high) >> 1; if (began[own[middle]] <= time) low = middle + 1; else high = middle; }
    if (!low) return [null, null];
    const now = own[low - 1];
    return [now, ended[now] <= time ? now : low > 1 ? own[low - 2] : null];
  }

  /** The lowest and the highest round that shown agents are in. */
  roundsAt(time) {
    let low = Infinity, high = 0;
    for (let agent = 0; agent < this.places.length; agent++) {
      const [now] = this.turnAt(agent, time);
      if (now !== null) { low = Math.min(low, this.turns.round[now]); high = Math.max(high, this.turns.round[now]); }
    }
    return high ? [low, high] : [0, 0];
  }
}

function unpacked(columns, kinds) {
  return Object.fromEntries(Object.entries(kinds).map(([name, kind]) => {
    const bytes = Uint8Array.from(atob(columns[name]), (c) => c.charCodeAt(0));
    return [name, new kind(bytes.buffer)];
  }));
}

/** How many entries of an ascending list are at most `limit`. */
function upTo(list, limit) {
  let low = 0, high = list.length;
  while (low < high) { const middle = (low + high) >> 1; if (list[middle] <= limit) low = middle + 1; else high = middle; }
  return low;
}

/** Buttons, scrubber and keys around replays that share one time, each with a clock of its own. */
function controlReplay(replays, { stage, play, scrub, speed, clocks, timeless }) {
  let playing = false, before = null, time = 0;
  const end = Math.max(...replays.map((each) => each.end)), rate = Math.max(...replays.map((each) => each.rate));
  for (const each of replays) each.rate = rate;
  scrub.max = end;
  const fates = [["delivered", FATE.delivered], ["lost", FATE.lost], ["overflowed", FATE.overflowed], ["unreachable", FATE.unreachable], ["refused", FATE.refused]];
  const show = (replay, clock, t) => {
    replay.draw(t);
    const [low, high] = replay.roundsAt(t);
    const told = [["", timeless ? `round ${high}` : format.seconds(t)]];
    if (!timeless) told.push(["round ", low === high ? String(high) : `${low}–${high}`]);
    if (t >= replay.end && replay.end < end) told.push(["", "ended"]);
    for (const [name, fate] of fates) if (replay.met[fate].length) told.push([`${name} `, format.count(replay.count(fate, t))]);
    for (const fault of replay.faultsAt(t)) told.push(["", fault]);
    clock.replaceChildren(...told.map(([name, value]) => element("span", {}, name, element("b", {}, value))));
  };
  const go = (to) => {
    time = Math.max(0, Math.min(end, to));
    scrub.value = time;
    replays.forEach((replay, k) => show(replay, clocks[k], Math.min(time, replay.end)));
    scrub.setAttribute("aria-valuetext", timeless ? `round ${Math.ceil(time)}` : format.seconds(time));
  };
  const frame = (now) => {
    if (!playing) return;
    if (before !== null) go(time + ((now - before) / 1000) * rate * Number(speed.value));
    before = now;
    if (time >= end) return set(false);
    requestAnimationFrame(frame);
  };
  const set = (on) => {
    playing = on;
    play.textContent = on ? "Pause" : "Play";
    before = null;
    if (on) { if (time >= end) go(0); requestAnimationFrame(frame); }
  };
  play.addEventListener("click", () => set(!playing));
  scrub.addEventListener("input", () => go(Number(scrub.value)));
  stage.addEventListener("keydown", (event) => {
    if (event.key === " " && event.target !== play) { event.preventDefault(); set(!playing); }
  });
  go(0);
}

/** What the signs of replays mean: those that occur. */
function showKey(place, replays) {
  const star = (rays, turn, name) => Array.from({ length: rays }, (_, k) => {
    const angle = turn + (k * 2 * Math.PI) / rays, [c, s] = [Math.cos(angle), Math.sin(angle)];
    return drawn("line", { x1: 9 + 2 * c, y1: 7 + 2 * s, x2: 9 + 6 * c, y2: 7 + 6 * s, "stroke-width": 2, style: `stroke:var(--${name})` });
  });
  const disc = (style, dash = "none") => [drawn("circle", { cx: 9, cy: 7, r: 6, "stroke-dasharray": dash, style: `stroke:var(--soft);${style}` })];
  const struck = (kind) => replays.some(({ faults }) => faults.some((fault) => fault.fault === kind));
  const shown = (fate) => replays.some(({ met }) => met[FATE[fate]].length > 0);
  const entries = [
    ["message", [drawn("line", { x1: 2, y1: 7, x2: 14, y2: 7, "stroke-width": 2, style: "stroke:var(--delivered)" }), drawn("circle", { cx: 14, cy: 7, r: 2.6, style: "fill:var(--delivered)" })], true],
    ["lost", star(8, 0, "lost"), shown("lost")],
    ["queue full", star(4, Math.PI / 4, "overflowed"), shown("overflowed")],
    ["unreachable", star(4, 0, "unreachable"), shown("unreachable")],
    ["refused", star(6, 0, "refused"), shown("refused")],
    ["fresh agent", disc("fill:var(--ink)"), true],
    ["uses stale values", disc("fill:color-mix(in srgb, var(--ink) 25%, var(--card))"), true],
    ["skips", disc("fill:none", "3 3"), replays.some(({ turns }) => turns.act.includes(ACT.skip))],
    ["down", [...disc("fill:none"), drawn("path", { d: "M5 3L13 11M13 3L5 11", "stroke-width": 1.6, style: "stroke:var(--lost)" })], struck("crash")],
    ["slow", [...disc("fill:var(--ink);r:4px"), drawn("circle", { cx: 9, cy: 7, r: 7, fill: "none", "stroke-dasharray": "1 3", style: "stroke:var(--overflowed)" })], struck("straggler")],
    ["cut link", [drawn("line", { x1: 0, y1: 7, x2: 18, y2: 7, "stroke-dasharray": "2 5", style: "stroke:var(--soft)" })], struck("link-down") || struck("partition")],
  ];
  place.append(...entries.filter((entry) => entry[2]).map(([name, marks]) =>
    element("li", {}, drawn("svg", { viewBox: "0 0 18 14", "aria-hidden": "true" }, ...marks), name)));
}
