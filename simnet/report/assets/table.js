// Tables that sort at a click and save themselves as CSV.

const ROWS_SHOWN = 200;

/**
 * columns: [{ key, title, format, kind: "text" | "long", rare }]; table: { key: [values] }. A rare column is shown only
 * where something happened; the CSV has every column. `first` is the order of the rows until the reader chooses another.
 */
function showTable(place, name, columns, table, first = null) {
  const known = columns.filter(({ key, rare }) => key in table && !(rare && table[key].every((value) => !value)));
  const count = known.length ? table[known[0].key].length : 0;
  if (!count) {
    place.append(element("p", { className: "note" }, "There is nothing to list."));
    return;
  }
  let order = first ?? Array.from({ length: count }, (_, i) => i);
  let sorted = null, ascending = true, all = false;
  const body = element("tbody");
  const heads = known.map((column) => {
    const button = element("button", { type: "button" }, column.title);
    const head = element("th", { className: column.kind ? "text" : "", scope: "col" }, button);
    button.addEventListener("click", () => sort(column, head));
    return head;
  });
  const told = element("span");
  const more = element("button", { type: "button" }, "Show all");
  more.addEventListener("click", () => { all = true; fill(); });
  const csv = element("button", { type: "button" }, "Save CSV");
  csv.addEventListener("click", () => save(`${name}.csv`, csvText(table), "text/csv"));
  place.append(
    element("div", { className: "scroll card", tabIndex: 0, role: "region", ariaLabel: name },
      element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)),
    element("div", { className: "foot" }, csv, told, more));
  fill();

  function sort(column, head) {
    ascending = sorted === column ? !ascending : Boolean(column.kind);
    sorted = column;
    const values = table[column.key], sign = ascending ? 1 : -1;
    order.sort((i, j) => sign * compared(values[i], values[j]) || i - j);
    for (const each of heads) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    fill();
  }

  function fill() {
    const shown = all ? order : order.slice(0, ROWS_SHOWN);
    body.replaceChildren(...shown.map((i) => element("tr", {}, ...known.map((column) =>
      element("td", { className: column.kind ? `text ${column.kind}` : "" }, column.format(table[column.key][i], i))))));
    more.hidden = shown.length === count;
    told.textContent = shown.length < count ? `${format.count(shown.length)} of ${format.count(count)} rows` : `${format.count(count)} rows`;
  }
}

function compared(a, b) {
  if (a == null || b == null) return (a == null) - (b == null);
  return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
}

function csvText(table) {
  const names = Object.keys(table);
  // A text that a spreadsheet would take for a formula gets an apostrophe.
  const harmless = (v) => (typeof v === "string" && /^[=+\-@\t\r]/.test(v) && !/^[+-]?\d+(\.\d*)?(e[+-]?\d+)?$/i.test(v) ? `'${v}` : String(v));
  const cell = (v) => (v == null ? "" : /[",\n\r]/.test(String(v)) ? `"${harmless(v).replaceAll('"', '""')}"` : harmless(v));
  const rows = table[names[0]].map((_, i) => names.map((name) => cell(table[name][i])).join(","));
  return [names.map(cell).join(","), ...rows].join("\n") + "\n";
}
