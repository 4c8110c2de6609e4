// A chart of points with intervals, and the line through those that nobody beats.

/** spec: { title, x: { label, full, log, ticks }, y: { format, full }, points: [{ x, y, xs, ys, colour, name }], front }. */
class Scatter extends Chart {
  constructor(place, spec) {
    super(place, { ...spec, series: [], x: { ...spec.x, values: [] } });
    this.order = spec.points.map((_, i) => i).sort((i, j) => spec.points[i].x - spec.points[j].x);
  }

  draw() {
    const { spec, svg } = this;
    const width = svg.clientWidth || 320, height = CHART.height + 60;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    svg.setAttribute("aria-label", `${spec.title}: ${spec.points.length} settings, ${spec.front.length} on the front. Arrow keys move from point to point.`);
    const bottom = height - CHART.bottom;
    const ends = (axis) => spec.points.flatMap((p) => [p[axis], ...(p[`${axis}s`] ?? [])]).filter((v) => v != null);
    this.x = spec.x.log ? logScale([spec.points.map((p) => p.x)], CHART.left, width - CHART.right) : scale(padded(extent([ends("x")]), false), CHART.left, width - CHART.right);
    this.y = scale(padded(extent([ends("y")]), false), bottom, CHART.top);
    this.overlay = drawn("g");
    svg.replaceChildren(...this.axes(width, height), ...this.frontLine(), ...spec.points.map((_, i) => this.mark(i)), this.overlay);
    this.move(this.index);
  }

  rows() {
    const { spec } = this, all = spec.points;
    return { setting: all.map((p) => p.name), [spec.x.label]: all.map((p) => p.x), low: all.map((p) => p.xs?.[0]), high: all.map((p) => p.xs?.[1]),
      [spec.y.name]: all.map((p) => p.y), [`${spec.y.name} low`]: all.map((p) => p.ys?.[0]), [`${spec.y.name} high`]: all.map((p) => p.ys?.[1]), front: all.map((_, i) => (spec.front.includes(i) ? "yes" : "")) };
  }

  frontLine() {
    const { spec, x, y } = this;
    const along = spec.front.map((i) => spec.points[i]).sort((a, b) => a.x - b.x);
    if (along.length < 2) return [];
    const d = along.map((p, i) => `${i ? `H${x(p.x).toFixed(1)}V` : `M${x(p.x).toFixed(1)} `}${y(p.y).toFixed(1)}`).join("");
    return [drawn("path", { d, fill: "none", class: "front" })];
  }

  mark(i) {
    const p = this.spec.points[i], { x, y } = this;
    const style = `stroke:${p.colour};fill:${this.spec.front.includes(i) ? p.colour : "var(--card)"}`;
    const whisker = (x1, y1, x2, y2) => drawn("line", { x1, y1, x2, y2, class: "whisker", style: `stroke:${p.colour}` });
    const parts = [];
    if (p.ys) parts.push(whisker(x(p.x), y(p.ys[0]), x(p.x), y(p.ys[1])));
    if (p.xs && (!this.spec.x.log || p.xs[0] > 0)) parts.push(whisker(x(p.xs[0]), y(p.y), x(p.xs[1]), y(p.y)));
    return drawn("g", {}, ...parts, drawn("circle", { cx: x(p.x), cy: y(p.y), r: 4, "stroke-width": 1.8, style }));
  }

  point(event) {
    const box = this.svg.getBoundingClientRect(), { points } = this.spec;
    const far = (i) => Math.hypot(this.x(points[i].x) - (event.clientX - box.left), this.y(points[i].y) - (event.clientY - box.top));
    const best = this.order.reduce((a, b) => (far(a) <= far(b) ? a : b), this.order[0]);
    this.move(best !== undefined && far(best) < 40 ? best : null);
  }

  key(event) {
    const last = this.order.length - 1, at = this.index === null ? -1 : this.order.indexOf(this.index);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.move(this.order[Math.max(0, Math.min(last, to))]);
  }

  move(index) {
    const { spec } = this;
    this.index = index;
    this.overlay?.replaceChildren();
    this.at.textContent = "";
    if (index === null) {
      this.legend.replaceChildren(element("li", {}, `${format.count(spec.points.length)} settings, `, element("b", {}, format.count(spec.front.length)), " on the front"));
      return;
    }
    const p = spec.points[index];
    this.legend.replaceChildren(element("li", {}, `${p.name}: `, element("b", {}, `${spec.x.full(p.x)}, ${spec.y.full(p.y)}`)));
    this.overlay?.append(drawn("circle", { cx: this.x(p.x), cy: this.y(p.y), r: 8, fill: "none", class: "reference" }));
  }
}
