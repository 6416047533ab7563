// Small pictures of numbers. Each stands beside its number and needs no label.
import { h } from "preact";

/** A part of a whole, 0 to 1, as a bar. */
export function Bar({ part, of = "plain" }: { part: number; of?: "plain" | "strong" }) {
  const width = `${(100 * Math.min(1, Math.max(0, part))).toFixed(2)}%`;
  return h("span", { class: `bar ${of}`, "aria-hidden": "true" }, h("span", { style: { width } }));
}

const WIDTH = 48;
const HEIGHT = 16;

/** A series of numbers as an area; the largest has the full height. */
export function Sparkline({ values }: { values: ArrayLike<number> }) {
  const most = Math.max(...Array.from(values), 0);
  if (values.length < 2 || most === 0) return h("span", { class: "spark" });
  const step = WIDTH / (values.length - 1);
  const points = Array.from(values, (value, index) => {
    const y = HEIGHT - (HEIGHT - 1) * (Math.max(0, value) / most);
    return `${(index * step).toFixed(1)},${y.toFixed(1)}`;
  });
  return h(
    "svg",
    { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    h("polygon", { points: `0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}` }),
    h("polyline", { points: points.join(" ") }),
  );
}
