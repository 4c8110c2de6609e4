// The graph, its links coloured by what they carried or by what they lost.

const GRAPH = { width: 480, height: 360, margin: 26 };

class Graph {
  constructor(place, places, links) {
    this.links = links;
    this.told = element("span");
    this.ramp = element("span", { className: "ramp" });
    const at = places.map(([x, y]) => [GRAPH.margin + x * (GRAPH.width - 2 * GRAPH.margin), GRAPH.margin + y * (GRAPH.height - 2 * GRAPH.margin)]);
    const ends = (i) => { const [x1, y1] = at[links.a[i]], [x2, y2] = at[links.b[i]]; return { x1, y1, x2, y2 }; };
    const count = links.a?.length ?? 0;
    this.lines = Array.from({ length: count }, (_, i) => drawn("line", ends(i)));
    const hits = this.lines.map((_, i) => {
      const hit = drawn("line", { class: "hit", ...ends(i) });
      hit.addEventListener("pointerenter", () => this.tell(i));
      hit.addEventListener("pointerleave", () => this.tell(null));
      return hit;
    });
    const named = places.length <= 60, radius = named ? 12 : 3;
    const agents = at.map(([cx, cy], i) => drawn("g", {}, drawn("circle", { cx, cy, r: radius }), ...(named ? [drawn("text", { x: cx, y: cy }, String(i))] : [])));
    this.svg = drawn("svg", { viewBox: `0 0 ${GRAPH.width} ${GRAPH.height}`, role: "img" }, ...this.lines, ...hits, ...agents);
    place.append(this.svg, element("p", { className: "told" }, this.told, this.ramp));
  }

  colour(by) {
    this.by = by;
    const values = this.links[by] ?? [];
    const high = Math.max(...values, 0), label = by === "messages" ? format.count : format.percent;
    const heavy = Math.max(0.6, Math.min(3.5, 150 / values.length));
    values.forEach((value, i) => {
      const share = high ? value / high : 0;
      this.lines[i].style.stroke = `color-mix(in oklab, var(--high-${by}) ${(100 * share).toFixed(1)}%, var(--low))`;
      this.lines[i].style.strokeWidth = (1 + heavy * share).toFixed(2);
    });
    const bar = element("i");
    bar.style.background = `linear-gradient(to right, var(--low), var(--high-${by}))`;
    this.ramp.replaceChildren(label(0), bar, label(high));
    this.svg.setAttribute("aria-label", `The graph: ${values.length} links, ${by === "messages" ? "messages" : "share lost"} from ${label(Math.min(...values, high))} to ${label(high)} a link`);
    this.tell(null);
  }

  tell(i) {
    const { links } = this;
    this.told.textContent = i === null ? (this.by === "messages" ? "messages per link" : "share of messages that did not arrive")
      : `${links.a[i]}–${links.b[i]}: ${format.count(links.messages[i])} messages, ${format.bytes(links.wire_bytes[i])}, ${format.percent(links.failed_share[i])} failed`;
  }
}
