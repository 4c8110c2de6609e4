// Figures for people, the same everywhere on the page.

const format = {
  count: (v) => (v == null ? "–" : Math.round(v).toLocaleString("en-GB")),
  figure(v) {
    if (v == null) return "–";
    if (v === 0) return "0";
    const size = Math.abs(v);
    if (size >= 1e5 || size < 1e-3) return v.toExponential(2).replace("e+", "e");
    return v.toFixed(size < 0.9995 ? 4 : size < 10 ? 3 : size < 100 ? 2 : 1);
  },
  percent: (v) => (v == null ? "–" : `${(100 * v).toFixed(1)} %`),
  bytes(v) {
    if (v == null) return "–";
    for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) if (v >= size) return `${+(v / size).toPrecision(4)} ${unit}`;
    return `${v} B`;
  },
  seconds: (v) => `${v >= 100 ? v.toFixed(0) : v.toFixed(v >= 10 ? 1 : 2)} s`,
  text: (v) => (v == null ? "–" : String(v)),
};

/** An element with properties and children; text goes in as text, never as HTML. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") made.style.cssText = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

function note(id, text) {
  const place = byId(id);
  place.textContent = text;
  place.hidden = false;
}

function save(name, text, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
