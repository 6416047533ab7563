// Two runs side by side: the amounts of each row before and after, and the difference.
import { h } from "preact";
import { useState } from "preact/hooks";
import { rowName } from "../model/row-name.ts";
import { sumRows } from "../model/site-rows.ts";
import { amount, difference, roomOf } from "../parts/amounts.ts";
import { el } from "../parts/element.ts";
import { titleOf } from "../parts/frame-name.ts";
import { Bar } from "../parts/pictures.ts";
import { shown } from "../parts/shown-text.ts";
import { VirtualTable } from "../parts/virtual-table.ts";
import { Word } from "../parts/word.ts";
import { select, type ViewProps } from "./view.ts";

export function Diff({ model, state, change }: ViewProps) {
  const [sort, setSort] = useState({ id: "difference", ascending: false });
  const { head, weights } = model.data;
  const chosen = model.weight(state);
  if (chosen?.before === undefined || chosen.after === undefined) return null;
  const grouping = model.grouping(state, state.group === "path" ? "site" : state.group);
  const matches = model.matches(state);
  const before = sumRows(grouping, chosen.before, matches);
  const after = sumRows(grouping, chosen.after, matches);
  const value = (row: number) =>
    sort.id === "before"
      ? before[row]
      : sort.id === "after"
        ? after[row]
        : Math.abs(after[row] - before[row]);
  const order = [...grouping.frames.keys()]
    .filter((row) => before[row] !== 0 || after[row] !== 0)
    .sort((a, b) => (value(b) - value(a)) * (sort.ascending ? -1 : 1) || a - b);
  const most = Math.max(1, ...order.map((row) => Math.abs(after[row] - before[row])));
  const write = (number: number) => (number === 0 ? "·" : amount(number, chosen.unit, chosen.clock));
  return el(
    "div.diff",
    h(
      "section",
      { "aria-labelledby": "totals" },
      h("h2", { id: "totals" }, "Totals"),
      h(
        "div",
        { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Totals of both runs" },
        el(
          "table.totals",
          el(
            "thead",
            el(
              "tr",
              h("th", { scope: "col" }, "measure"),
              h(
                "th",
                { scope: "col", class: "number" },
                `before${head.before ? `: ${shown(head.before.program)}` : ""}`,
              ),
              h("th", { scope: "col", class: "number" }, `after: ${shown(head.program)}`),
              h("th", { scope: "col", class: "number" }, "difference"),
            ),
          ),
          el(
            "tbody",
            weights
              .filter(({ total, totalBefore = 0 }) => total !== 0 || totalBefore !== 0)
              .map((weight) =>
                h(
                  "tr",
                  { key: weight.id, class: weight.id === chosen.id ? "marked" : undefined },
                  h(
                    "th",
                    { scope: "row" },
                    h(
                      "button",
                      { type: "button", class: "link", onClick: () => change({ weight: weight.id }) },
                      h(Word, { word: weight.word, children: weight.label }),
                    ),
                  ),
                  el("td.number", amount(weight.totalBefore ?? 0, weight.unit, weight.clock)),
                  el("td.number", amount(weight.total, weight.unit, weight.clock)),
                  el(
                    "td.number",
                    difference(weight.total - (weight.totalBefore ?? 0), weight.unit, weight.clock),
                  ),
                ),
              ),
          ),
        ),
      ),
    ),
    h(
      "section",
      { class: "fills", "aria-labelledby": "places" },
      h("h2", { id: "places" }, `Changes by ${grouping.group}: ${chosen.label}`),
      h(VirtualTable, {
        label: `Both runs by ${grouping.group}`,
        columns: [
          { id: "name", label: grouping.group, width: "minmax(16rem, 1fr)", isNumber: false, canSort: false },
          ...["before", "after", "difference"].map((id) => ({
            id,
            label: id,
            isNumber: true,
            width: `${Math.max(id === "difference" ? 9 : 8, roomOf(chosen))}rem`,
          })),
        ],
        rows: order.length,
        sort,
        onSort: (id) => setSort({ id, ascending: id === sort.id && !sort.ascending }),
        isSelected: (index) => state.frame === grouping.frames[order[index]],
        onSelect: (index) =>
          change(
            select({
              frame: grouping.frames[order[index]],
              frameOf: grouping.group === "path" ? "site" : grouping.group,
            }),
          ),
        cell: (index, { id }) => {
          const row = order[index];
          const frame = grouping.frames[row];
          if (id === "name") {
            const { name, place } = rowName(model.names, frame, grouping.group);
            return h(
              "span",
              { class: "frame", title: titleOf(model.names, frame) },
              el("span.function", shown(name)),
              el("span.place", shown(place)),
            );
          }
          if (id !== "difference") return write(id === "before" ? before[row] : after[row]);
          const changed = after[row] - before[row];
          return [
            h(
              "span",
              { class: changed === 0 ? "value none" : "value" },
              changed === 0 ? "·" : difference(changed, chosen.unit, chosen.clock),
              before[row] === 0 ? el("span.dim", " new") : after[row] === 0 ? el("span.dim", " gone") : null,
            ),
            h(Bar, { part: Math.abs(changed) / most }),
          ];
        },
      }),
    ),
  );
}
