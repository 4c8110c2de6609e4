// Charts as SVG: lines and stacked bars, linear or logarithmic. The legend tells the values under the cursor, which
// follows the mouse, a finger, or the arrow keys; without a cursor it tells the last values.

const CHART = { height: 190, left: 46, right: 10, top: 8, bottom: 30 };

/**
 * spec: { title, series: [{ name, values, colour, dash, x, low, high }], x: { label, values, format },
 *         y: { format, full, log, zero, reference, within, marks: [{ value, name }] }; a series may have x values of its own, and a band from low to high;
 *         bars, edges, peak }. With `bars`, series are stacked and x.values are the bars' middles; `edges` are their
 *         borders. The legend of bars tells their sum, or the highest with `peak`.
 */
class Chart {
  constructor(place, spec) {
    this.at = element("span", { className: "at" });
    this.off = new Set(); // names of the series that the reader has switched off
    this.legend = element("ul", { className: "legend" });
    this.svg = drawn("svg", { role: "img", tabindex: 0 });
    this.figure = element("figure", { className: "chart card" },
      element("figcaption", {}, element("span", {}, spec.title), this.at), this.legend, this.svg,
      element("div", { className: "foot" }, ...[["Save SVG", () => this.saveSvg()], ["Save CSV", () => this.saveCsv()]].map(([name, act]) => {
        const button = element("button", { type: "button", ariaLabel: `${name} of ${spec.title}` }, name);
        button.addEventListener("click", act);
        return button;
      })));
    place.append(this.figure);
    this.spec = spec;
    this.index = null;
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.move(null));
    this.svg.addEventListener("blur", () => this.move(null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.figure);
  }

  update(changes) {
    Object.assign(this.spec, changes);
    this.index = null;
    this.draw();
  }

  /** The series that the reader has not switched off. */
  get on() { return this.spec.series.filter((each) => !this.off.has(each.name)); }

  draw() {
    const { spec, svg } = this;
    const width = svg.clientWidth || 320;
    const n = spec.x.values.length;
    svg.setAttribute("viewBox", `0 0 ${width} ${CHART.height}`);
    svg.setAttribute("height", CHART.height);
    svg.setAttribute("aria-label", this.described());
    this.x = scale(spec.edges ? [spec.edges[0], spec.edges[spec.edges.length - 1]] : extent([spec.x.values, ...this.on.map((each) => each.x ?? [])]), CHART.left, width - CHART.right);
    const stacks = spec.bars ? [spec.x.values.map((_, i) => this.on.reduce((sum, each) => sum + each.values[i], 0)), [0]] : null;
    const bands = this.on.flatMap((each) => [each.low ?? [], each.high ?? []]);
    const shown = stacks ?? [...this.on.map((each) => each.values), ...bands, spec.y.within ?? [], spec.y.reference == null ? [] : [spec.y.reference]];
    this.y = spec.y.log ? logScale(shown, CHART.height - CHART.bottom, CHART.top)
      : scale(padded(extent(shown), Boolean(spec.bars || spec.y.zero)), CHART.height - CHART.bottom, CHART.top);
    this.overlay = drawn("g");
    svg.replaceChildren(...this.axes(width), ...(n ? (spec.bars ? this.stacked() : this.lines()) : []), this.overlay);
    this.move(this.index);
  }

  axes(width, height = CHART.height) {
    const { spec } = this;
    const bottom = height - CHART.bottom;
    const parts = [];
    for (const tick of this.y.ticks(4)) {
      const y = this.y(tick);
      parts.push(drawn("line", { class: "grid", x1: CHART.left, x2: width - CHART.right, y1: y, y2: y }),
        drawn("text", { x: CHART.left - 6, y: y + 4, "text-anchor": "end" }, this.y.label(tick, spec.y.format)));
    }
    for (const tick of this.x.ticks(Math.max(2, Math.floor(width / 90)))) {
      if (spec.x.whole && tick % 1) continue;
      parts.push(drawn("text", { x: this.x(tick), y: bottom + 15, "text-anchor": "middle" }, (spec.x.ticks ?? short)(tick)));
    }
    parts.push(drawn("line", { class: "grid base", x1: CHART.left, x2: width - CHART.right, y1: bottom, y2: bottom }),
      drawn("text", { x: width - CHART.right, y: height - 2, "text-anchor": "end" }, spec.x.label));
    if (spec.y.reference != null) {
      const y = this.y(spec.y.reference);
      parts.push(drawn("line", { class: "reference", x1: CHART.left, x2: width - CHART.right, y1: y, y2: y }));
    }
    for (const { value, name } of spec.y.marks ?? []) { // lines with a name, where the chart reaches so far
      const y = this.y(value);
      if (!(y >= CHART.top && y <= bottom)) continue;
      parts.push(drawn("line", { class: "reference", x1: CHART.left, x2: width - CHART.right, y1: y, y2: y }),
        drawn("text", { x: width - CHART.right, y: y - 3, "text-anchor": "end" }, name));
    }
    return parts;
  }

  lines() {
    const { x, y, spec } = this;
    const usable = (v) => v != null && (!spec.y.log || v > 0);
    const place = ([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`;
    const bands = this.on.filter((series) => series.low).map((series) => {
      const at = (series.x ?? spec.x.values).map((a, i) => [a, series.low[i], series.high[i]]).filter(([a, low, high]) => a != null && usable(low) && usable(high));
      const round = [...at.map(([a, , high]) => [a, high]), ...at.reverse().map(([a, low]) => [a, low])];
      return drawn("path", { d: round.length ? `M${round.map(place).join("L")}Z` : "", class: "band", style: `fill:${series.colour}` });
    });
    return bands.concat(this.on.map((series) => {
      const known = series.values.map((v, i) => [(series.x ?? spec.x.values)[i], v]).filter(([a, v]) => a != null && usable(v));
      if (known.length === 1) return drawn("circle", { cx: x(known[0][0]), cy: y(known[0][1]), r: 3, style: `fill:${series.colour}` });
      const d = known.length ? `M${known.map(place).join("L")}` : "";
      return drawn("path", { d, fill: "none", "stroke-width": (series.dash ?? "none") === "none" ? 2 : 1.5, "stroke-linejoin": "round",
        "stroke-dasharray": series.dash ?? "none", style: `stroke:${series.colour}` });
    }));
  }

  stacked() {
    const { x, y, spec } = this;
    const parts = [];
    spec.x.values.forEach((_, i) => {
      const left = x(spec.edges[i]), right = x(spec.edges[i + 1]);
      const gap = right - left > 6 ? 1 : right - left > 3 ? 0.5 : 0;
      let base = 0;
      for (const series of this.on) {
        const value = series.values[i];
        if (value) parts.push(drawn("rect", { x: left + gap, width: Math.max(0.5, right - left - 2 * gap), y: y(base + value),
          height: y(base) - y(base + value), style: `fill:${series.colour}` }));
        base += value;
      }
    });
    return parts;
  }

  point(event) {
    const values = this.spec.x.values;
    if (!values.length) return;
    const box = this.svg.getBoundingClientRect();
    const wanted = this.x.invert(((event.clientX - box.left) * (this.svg.clientWidth || box.width)) / box.width);
    this.move(nearest(values, wanted, 0));
  }

  key(event) {
    const last = this.spec.x.values.length - 1;
    const from = this.index ?? last;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.move(Math.max(0, Math.min(last, to)));
  }

  move(index) {
    const { spec } = this;
    this.index = index;
    const last = spec.x.values.length - 1;
    const i = index ?? last;
    this.at.textContent = index === null || last < 0 ? "" : `${spec.x.name ?? spec.x.label} ${spec.x.format(spec.x.values[i], i)}`;
    const telling = index !== null || !spec.bars;
    this.legend.replaceChildren(...spec.series.map((series) => {
      const value = telling ? series.values[nearest(series.x, spec.x.values[i], i)] : this.total(series);
      return element("li", {}, this.switch(series), element("b", {}, (spec.y.full ?? spec.y.format)(value)));
    }));
    if (!this.overlay) return;
    this.overlay.replaceChildren();
    if (index === null || last < 0) return;
    const x = this.x(spec.x.values[i]);
    this.overlay.append(drawn("line", { class: "cursor", x1: x, x2: x, y1: CHART.top, y2: CHART.height - CHART.bottom }));
    if (spec.bars) return;
    for (const series of this.on) {
      const j = nearest(series.x, spec.x.values[i], i), value = series.values[j];
      if (value == null || (spec.y.log && value <= 0)) continue;
      this.overlay.append(drawn("circle", { cx: this.x((series.x ?? spec.x.values)[j]), cy: this.y(value), r: 3.5, style: `fill:${series.colour}` }));
    }
  }

  /** The name of a series, which shows and hides it; one alone stays. */
  switch(series) {
    if (this.spec.series.length < 2) return element("span", {}, swatch(series, this.spec.bars), `${series.name} `);
    const button = element("button", { type: "button", className: "switch", ariaPressed: String(!this.off.has(series.name)) }, swatch(series, this.spec.bars), `${series.name} `);
    button.addEventListener("click", () => {
      if (!this.off.delete(series.name)) this.off.add(series.name);
      this.draw();
      [...this.legend.querySelectorAll("button")][this.spec.series.indexOf(series)]?.focus();
    });
    return button;
  }

  /** What the chart shows, as numbers. */
  rows() {
    const found = { series: [], [this.spec.x.label ?? "x"]: [], value: [], low: [], high: [] }, [, across] = Object.keys(found);
    for (const series of this.spec.series) series.values.forEach((value, i) => {
      found.series.push(series.name);
      found[across].push((series.x ?? this.spec.x.values)[i]);
      found.value.push(value);
      found.low.push(series.low?.[i]);
      found.high.push(series.high?.[i]);
    });
    return found;
  }

  get file() { return this.spec.title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-"); }

  saveCsv() { save(`${this.file}.csv`, csvText(this.rows()), "text/csv"); }

  saveSvg() { save(`${this.file}.svg`, standalone(this.svg), "image/svg+xml"); }

  total(series) {
    return series.values.reduce(this.spec.peak ? (a, b) => Math.max(a, b) : (a, b) => a + b, 0);
  }

  described() {
    const { spec } = this;
    const last = spec.x.values.length - 1;
    if (last < 0) return `${spec.title}: no data`;
    const told = spec.series.map((s) => (spec.bars
      ? `${s.name} ${(spec.y.full ?? spec.y.format)(this.total(s))}`
      : `${s.name} from ${(spec.y.full ?? spec.y.format)(s.values[0])} to ${(spec.y.full ?? spec.y.format)(s.values[last])}`));
    return `${spec.title}: ${told.join("; ")}. Arrow keys move along the chart.`;
  }
}

/** The place of the value nearest to a wanted one; `otherwise` where there are no values to choose from. */
function nearest(values, wanted, otherwise) {
  if (!values?.length) return otherwise;
  let best = 0;
  values.forEach((v, i) => { if (Math.abs(v - wanted) < Math.abs(values[best] - wanted)) best = i; });
  return best;
}

/** An SVG that looks the same outside of the page: what the page's style sheet says stands in it. */
function standalone(svg) {
  const copy = svg.cloneNode(true), originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of ["stroke", "fill", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size"]) node.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", svg.clientWidth || 320);
  copy.style.background = getComputedStyle(document.documentElement).getPropertyValue("--card");
  return new XMLSerializer().serializeToString(copy);
}

function swatch(series, bars) {
  const style = `stroke:${series.colour};fill:${series.colour}`;
  const mark = bars ? drawn("rect", { x: 4, y: 0, width: 9, height: 8, rx: 1, style })
    : drawn("line", { x1: 0, x2: 18, y1: 5, y2: 5, "stroke-width": 2, "stroke-dasharray": series.dash ?? "none", style });
  return drawn("svg", { viewBox: "0 0 18 8", "aria-hidden": "true" }, mark);
}

function extent(lists) {
  let low = Infinity, high = -Infinity;
  for (const list of lists) for (const v of list) if (v != null) { low = Math.min(low, v); high = Math.max(high, v); }
  return low <= high ? [low, high] : [0, 1];
}

/** A little room around the data; from zero where lengths are compared, or where zero is near. */
function padded([low, high], zero) {
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  const bottom = zero || (low >= 0 && low < (high - low) * 0.35) ? Math.min(0, low) : low - room;
  return [bottom, high + room];
}

function scale([low, high], from, to) {
  const span = high - low || 1;
  const place = (v) => from + ((v - low) / span) * (to - from);
  place.invert = (p) => low + ((p - from) / (to - from)) * span;
  place.ticks = (n) => {
    const raw = span / n, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(+(k * step).toPrecision(12));
    return ticks;
  };
  place.label = (v, format) => format(v);
  return place;
}

/** Positive values only; what is zero or below has no place on a logarithmic axis. */
function logScale(lists, from, to) {
  const positive = lists.map((list) => list.filter((v) => v > 0));
  let [low, high] = extent(positive);
  if (!positive.some((list) => list.length)) [low, high] = [0.1, 1];
  const inner = scale([Math.log10(low) - 0.1, Math.log10(high) + 0.1], from, to);
  const place = (v) => inner(Math.log10(v));
  place.ticks = (n) => {
    const a = Math.ceil(Math.log10(low) - 0.1), b = Math.floor(Math.log10(high) + 0.1);
    if (b - a < 1) return [...new Set([low, high])];
    const step = Math.max(1, Math.ceil((b - a) / n));
    return Array.from({ length: Math.floor((b - a) / step) + 1 }, (_, k) => 10 ** (a + k * step));
  };
  place.label = (v) => short(v);
  return place;
}

/** A tick: few characters. */
function short(v) {
  const size = Math.abs(v);
  if (v === 0) return "0";
  for (const [unit, sign] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (size >= unit) return `${+(v / unit).toPrecision(3)}${sign}`;
  return size < 1e-3 ? v.toExponential(0) : String(+v.toPrecision(3));
}
