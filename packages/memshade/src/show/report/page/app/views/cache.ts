// Miss ratios of caches of all sizes, and the sites that miss.
import { h } from "preact";
import type { PageCache } from "../../data/page-data.ts";
import { rowName } from "../model/row-name.ts";
import { sumRows } from "../model/site-rows.ts";
import { amount, formatCount, formatPercent } from "../parts/amounts.ts";
import { el } from "../parts/element.ts";
import { titleOf } from "../parts/frame-name.ts";
import { Bar } from "../parts/pictures.ts";
import { shown } from "../parts/shown-text.ts";
import { VirtualTable } from "../parts/virtual-table.ts";
import { select, type ViewProps } from "./view.ts";

export function Cache({ model, state, change }: ViewProps) {
  const cache = model.data.cache;
  if (cache === undefined) return null;
  return el(
    "div.cache",
    state.range === undefined ? null : el("p.whole-run", "Whole run: the curve shows all references."),
    h(
      "section",
      { "aria-labelledby": "curve" },
      h("h2", { id: "curve" }, "Miss ratio by cache size"),
      el(
        "p.dim",
        `${formatCount(cache.references)} references to ${formatCount(cache.lines)} lines of ${cache.lineBytes} bytes, ` +
          `${formatPercent(cache.rate, 1)} of the lines were sampled.`,
      ),
      el("div.curve-and-table", h(Curve, { cache }), h(Table, { cache })),
    ),
    h(Missers, { model, state, change, cache }),
  );
}

const WIDTH = 720;
const HEIGHT = 260;
const LEFT = 48;
const RIGHT = 12;
const TOP = 28;
const BOTTOM = 28;

function Curve({ cache }: { cache: PageCache }) {
  const { bytes, missRatio, caches } = cache;
  const smallest = Math.max(1, bytes[0]);
  const largest = Math.max(...bytes, ...caches.map(({ bytes }) => bytes), 2 * smallest);
  const x = (size: number) =>
    LEFT +
    ((WIDTH - LEFT - RIGHT) * Math.log2(Math.max(size, smallest) / smallest)) / Math.log2(largest / smallest);
  const most = roundUp(Math.max(...missRatio, 0.001));
  const y = (ratio: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - ratio / most);
  const points = Array.from(
    bytes,
    (size, index) => `${x(size).toFixed(1)},${y(missRatio[index]).toFixed(1)}`,
  );
  // Larger caches have the miss ratio of the largest measured size.
  points.push(`${x(largest).toFixed(1)},${y(missRatio[missRatio.length - 1]).toFixed(1)}`);
  const sizes: number[] = [];
  for (let size = 2 ** Math.ceil(Math.log2(smallest)); size <= largest; size *= 16) sizes.push(size);
  return h(
    "svg",
    {
      class: "curve",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": "Percentage of references that miss, by cache size. The table has the figures.",
    },
    [0, 0.5, 1].map((part) => [
      h("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(part * most), y2: y(part * most) }),
      h("text", { x: LEFT - 6, y: y(part * most) + 4, "text-anchor": "end" }, formatPercent(part * most, 1)),
    ]),
    sizes.map((size) =>
      h(
        "text",
        { x: x(size), y: HEIGHT - 8, "text-anchor": "middle" },
        amount(size, "bytes").replace(/\.0+(?= )/, ""),
      ),
    ),
    caches.map(({ name, bytes: size }) => [
      h("line", { class: "cache-mark", x1: x(size), x2: x(size), y1: TOP - 4, y2: HEIGHT - BOTTOM }),
      h(
        "text",
        { x: x(size), y: TOP - 10, "text-anchor": "middle" },
        el("title", shown(name)),
        shown(name.split(" ")[0]),
      ),
    ]),
    h("polyline", { class: "ratio", points: points.join(" ") }),
  );
}

/** Rounds up to 0.1 %, 0.2 %, 0.5 %, 1 % … 100 %. */
function roundUp(ratio: number): number {
  const power = 10 ** Math.floor(Math.log10(ratio));
  return Math.min(1, power * [1, 2, 5, 10].find((step) => step * power >= ratio)!);
}

function Table({ cache }: { cache: PageCache }) {
  return el(
    "table.caches",
    el("caption", "Caches of real machines"),
    el(
      "thead",
      el(
        "tr",
        h("th", { scope: "col" }, "cache"),
        h("th", { scope: "col", class: "number" }, "size"),
        h("th", { scope: "col", class: "number" }, "miss ratio"),
      ),
    ),
    el(
      "tbody",
      cache.caches.map(({ name, bytes, missRatio }) =>
        h(
          "tr",
          { key: name },
          h("th", { scope: "row" }, shown(name)),
          el("td.number", amount(bytes, "bytes")),
          el("td.number", formatPercent(missRatio, 1)),
        ),
      ),
    ),
  );
}

function Missers({ model, state, change, cache }: ViewProps & { readonly cache: PageCache }) {
  const misses = model.figures(state).find(({ id }) => id === "misses");
  if (misses === undefined || misses.total === 0) return null;
  const grouping = model.grouping(state, "site");
  const sums = sumRows(grouping, misses.values, model.matches(state));
  const order = [...sums.keys()].filter((row) => sums[row] > 0).sort((a, b) => sums[b] - sums[a] || a - b);
  return h(
    "section",
    { "aria-labelledby": "missers" },
    h(
      "h2",
      { id: "missers" },
      `Sites with the most misses, in a cache of ${amount(cache.missesAt, "bytes")}`,
    ),
    h(VirtualTable, {
      label: "Misses by site",
      columns: [
        { id: "name", label: "site", width: "minmax(16rem, 1fr)", isNumber: false },
        { id: "misses", label: "misses", width: "8rem", isNumber: true },
        { id: "part", label: "of misses", width: "6rem", isNumber: true },
      ],
      rows: order.length,
      onSelect: (index) =>
        change({ ...select({ frame: grouping.frames[order[index]], frameOf: "site" }), tab: "source" }),
      cell: (index, { id }) => {
        const row = order[index];
        if (id === "name") {
          const { name, place } = rowName(model.names, grouping.frames[row], "site");
          return h(
            "span",
            { class: "frame", title: titleOf(model.names, grouping.frames[row]) },
            el("span.function", shown(name)),
            el("span.place", shown(place)),
          );
        }
        if (id === "part") return formatPercent(sums[row], misses.total);
        return [
          el("span.value", amount(sums[row], misses.unit)),
          h(Bar, { part: sums[row] / sums[order[0]] }),
        ];
      },
    }),
  );
}
