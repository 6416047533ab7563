// Accesses inside the blocks of a site, sizes and lifetimes of all blocks, and static data.
import { h } from "preact";
import { useState } from "preact/hooks";
import type { PageHistogram, PageObject, PageVariable } from "../../data/page-data.ts";
import type { PageModel } from "../model/page-model.ts";
import { amount, formatCount } from "../parts/amounts.ts";
import { el } from "../parts/element.ts";
import { FrameName } from "../parts/frame-name.ts";
import { Bar } from "../parts/pictures.ts";
import { shown } from "../parts/shown-text.ts";
import { type TableColumn, VirtualTable } from "../parts/virtual-table.ts";
import { select, type ViewProps } from "./view.ts";

const MEASURES = ["reads", "writes", "accesses", "dead", "silent"] as const;
type Measure = (typeof MEASURES)[number];

const MEASURE_NAMES: Readonly<Record<Measure, string>> = {
  reads: "reads",
  writes: "writes",
  accesses: "accesses",
  dead: "dead bytes",
  silent: "silent bytes",
};

/** Most sites whose blocks are shown at once. */
const SHOWN = 12;
/** Most code locations listed per kind of access to a site's blocks. */
const ACCESSES = 5;

export function Blocks({ model, state, change }: ViewProps) {
  const { objects, histograms, statics } = model.data;
  const [measure, setMeasure] = useState<Measure | undefined>(undefined);
  const selected = model.selected(state);
  const finding = model.selectedFinding(state);
  const ofSelection = objects.filter(
    (object, index) =>
      finding?.objects.includes(index) || object.contexts.some((context) => selected?.[context] === 1),
  );
  const listed = ofSelection.length > 0 ? ofSelection : objects;
  const measures = MEASURES.filter((name) => objects.some(({ cells }) => cells[name] !== undefined));
  return el(
    "div.blocks",
    state.range === undefined
      ? null
      : el("p.whole-run", "Whole run: these figures were not recorded over time."),
    objects.length === 0
      ? null
      : h(
          "section",
          { "aria-labelledby": "inside" },
          h("h2", { id: "inside" }, "Inside blocks"),
          el(
            "div.toolbar",
            h(
              "div",
              { role: "group", "aria-label": "Measure" },
              measures.map((name) =>
                h(
                  "button",
                  {
                    key: name,
                    type: "button",
                    class: "chip",
                    "aria-pressed": name === (measure ?? measures[0]),
                    onClick: () => setMeasure(name),
                  },
                  MEASURE_NAMES[name],
                ),
              ),
            ),
            el(
              "span.dim",
              selected === undefined
                ? "Blocks of all sites. Select a site to see only its blocks."
                : ofSelection.length > 0
                  ? "Blocks of the selection."
                  : "The selected blocks have no record. Blocks of all other sites are shown.",
            ),
          ),
          listed.slice(0, SHOWN).map((object) =>
            h(Block, {
              key: objects.indexOf(object),
              model,
              state,
              change,
              object,
              measure: measure ?? measures[0],
            }),
          ),
          listed.length > SHOWN
            ? el("p.dim", `${formatCount(listed.length - SHOWN)} more: select a site to see its blocks.`)
            : null,
        ),
    histograms.length === 0
      ? null
      : h(
          "section",
          { "aria-labelledby": "histograms" },
          h("h2", { id: "histograms" }, "All blocks"),
          el(
            "div.histograms",
            histograms.map((histogram) => h(Histogram, { key: histogram.id, histogram })),
          ),
        ),
    statics.length === 0 ? null : h(Statics, { statics }),
  );
}

function Block({
  model,
  state,
  change,
  object,
  measure,
}: ViewProps & { readonly object: PageObject; readonly measure: Measure | undefined }) {
  const { data, names } = model;
  const { cells } = object;
  const values = measure && cells[measure];
  const most = values ? Math.max(...values, 1) : 1;
  const text = (index: number) => (index < 0 ? "" : shown(data.strings[index]));
  const columns = MEASURES.filter((name) => cells[name] !== undefined);
  const [context] = object.contexts;
  const site = context === undefined ? undefined : data.contexts.site[context];
  const frame = context === undefined ? undefined : data.contexts.frame[site! < 0 ? context : site!];
  const isCollected = object.tool === "objects";
  const noun = isCollected ? "object" : "block";
  const size = `${amount(object.size, "bytes")} each`;
  const whole = [
    `${formatCount(object.blocks)} ${object.blocks === 1 ? noun : `${noun}s`}`,
    amount(object.bytes, "bytes"),
    object.varies ? (isCollected ? `${size} on average` : `at most ${size}`) : size,
    object.period === undefined ? "" : `an array of elements of ${amount(object.period, "bytes")}, folded`,
  ].filter((part) => part !== "");
  return el(
    "article.block",
    el(
      "h3",
      object.type ? el("code", shown(object.type.name)) : null,
      frame === undefined ? null : h(FrameName, { names, frame }),
      el("span.dim", whole.join(" · ")),
    ),
    h(
      "div",
      { class: "cells", "aria-hidden": "true" },
      Array.from({ length: cells.length }, (_, cell) => {
        const value = values?.[cell] ?? 0;
        return h(
          "div",
          {
            key: cell,
            class: value === 0 ? "cell none" : "cell",
            style: { flexGrow: Math.max(1, Math.min(cells.size[cell], 64)) },
            title: cellTitle(object, cell, text),
          },
          h("span", { class: "ink", style: { opacity: value === 0 ? 0 : 0.15 + 0.85 * (value / most) } }),
          el("span.name", text(cells.name[cell]) || `+${cells.offset[cell]}`),
        );
      }),
    ),
    h(
      "details",
      { open: cells.length <= 8 },
      el("summary", "Members as a table"),
      h(
        "div",
        { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Members" },
        el(
          "table",
          el(
            "thead",
            el(
              "tr",
              h("th", { scope: "col", class: "number" }, "offset"),
              h("th", { scope: "col", class: "number" }, "bytes"),
              h("th", { scope: "col" }, "member"),
              h("th", { scope: "col" }, "type"),
              columns.map((name) =>
                h("th", { key: name, scope: "col", class: "number" }, MEASURE_NAMES[name]),
              ),
            ),
          ),
          el(
            "tbody",
            Array.from({ length: cells.length }, (_, cell) =>
              h(
                "tr",
                { key: cell },
                el("td.number", cells.offset[cell]),
                el("td.number", cells.size[cell], object.tail && cell === cells.length - 1 ? "…" : ""),
                el("td", el("code", text(cells.name[cell]))),
                el("td", el("code", text(cells.type[cell]))),
                columns.map((name) => {
                  const value = cells[name]![cell];
                  return h(
                    "td",
                    { key: name, class: value === 0 ? "number none" : "number" },
                    value === 0 && (name === "reads" || name === "accesses")
                      ? "never"
                      : amount(value, name === "dead" || name === "silent" ? "bytes" : "accesses"),
                  );
                }),
              ),
            ),
          ),
        ),
      ),
    ),
    h(Accesses, { model, state, change, says: "Stored to by ", by: object.writtenBy }),
    h(Accesses, { model, state, change, says: "Loaded by ", by: object.readBy }),
    h(Accesses, { model, state, change, says: "Dead bytes stored by ", by: object.deadBy }),
  );
}

/** Code locations that access blocks, each a link to its line; instructions of one location are added up. */
function Accesses({
  model,
  state,
  change,
  says,
  by = [],
}: ViewProps & { readonly says: string; readonly by: PageObject["writtenBy"] }) {
  const naming = model.naming(state);
  const places = new Map<string, { context: number; frame: number; bytes: number }>();
  for (const { context, bytes } of by) {
    const frame = naming[context];
    const key = `${model.names.function(frame)} ${model.names.place(frame)}`;
    const earlier = places.get(key);
    if (earlier === undefined) places.set(key, { context, frame, bytes });
    else earlier.bytes += bytes;
  }
  const ranked = [...places.values()].sort((a, b) => b.bytes - a.bytes);
  if (ranked.length === 0) return null;
  return el(
    "p.accesses",
    says,
    ranked.slice(0, ACCESSES).map(({ context, frame, bytes }, index) => [
      index === 0 ? null : ", ",
      h(
        "button",
        {
          type: "button",
          class: "link",
          onClick: () =>
            change({
              ...select({ site: context, alone: true }),
              tab: model.names.line(frame) > 0 ? "source" : "graph",
            }),
        },
        h(FrameName, { names: model.names, frame }),
      ),
      ` (${amount(bytes, "bytes")})`,
    ]),
    ranked.length > ACCESSES ? `, ${formatCount(ranked.length - ACCESSES)} more` : null,
  );
}

function cellTitle({ cells }: PageObject, cell: number, text: (index: number) => string): string {
  const name = [text(cells.type[cell]), text(cells.name[cell])].join(" ").trim();
  const numbers = MEASURES.filter((measure) => cells[measure] !== undefined).map(
    (measure) => `${MEASURE_NAMES[measure]} ${formatCount(cells[measure]![cell])}`,
  );
  return [`+${cells.offset[cell]}, ${cells.size[cell]} B ${name}`, ...numbers].join("\n");
}

function Histogram({ histogram }: { histogram: PageHistogram }) {
  const { from, blocks, bytes, unit, clock } = histogram;
  const most = Math.max(...blocks, 1);
  const bound = (index: number) => amount(from[index], unit, clock);
  return el(
    "table.histogram",
    el("caption", histogram.label),
    el(
      "thead",
      el(
        "tr",
        h("th", { scope: "col" }, "from"),
        h("th", { scope: "col", class: "number" }, "blocks"),
        h("th", { scope: "col" }, el("span.unseen", "picture")),
        bytes ? h("th", { scope: "col", class: "number" }, "bytes") : null,
      ),
    ),
    el(
      "tbody",
      Array.from(blocks, (count, index) =>
        h(
          "tr",
          { key: index },
          h("th", { scope: "row" }, bound(index)),
          h("td", { class: count === 0 ? "number none" : "number" }, formatCount(count)),
          el("td.picture", h(Bar, { part: count / most })),
          bytes ? el("td.number", amount(bytes[index], "bytes")) : null,
        ),
      ),
    ),
  );
}

const NUMBERS = ["bytes", "accesses", "reads", "writes", "untouched", "unread"] as const;

function Statics({ statics }: { statics: PageModel["data"]["statics"] }) {
  const [sort, setSort] = useState<{ id: string; ascending: boolean }>({ id: "bytes", ascending: false });
  const present = NUMBERS.filter((name) => statics.some((variable) => variable[name] !== undefined));
  const value = (variable: PageVariable) =>
    sort.id === "name" ? variable.name : (variable[sort.id as (typeof NUMBERS)[number]] ?? -1);
  const order = [...statics].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    return (left < right ? -1 : left > right ? 1 : 0) * (sort.ascending ? 1 : -1);
  });
  const columns: TableColumn[] = [
    { id: "name", label: "variable", width: "minmax(16rem, 1fr)", isNumber: false },
    ...present.map((name) => ({
      id: name,
      label: name === "untouched" ? "never accessed" : name === "unread" ? "never read" : name,
      width: "7.5rem",
      isNumber: true,
    })),
  ];
  return h(
    "section",
    { class: "statics", "aria-labelledby": "statics" },
    h("h2", { id: "statics" }, "Static data"),
    h(VirtualTable, {
      label: "Variables",
      columns,
      rows: order.length,
      sort,
      onSort: (id) => setSort({ id, ascending: id === sort.id ? !sort.ascending : id === "name" }),
      cell: (row, { id }) => {
        const variable = order[row];
        if (id === "name")
          return el(
            "span.frame",
            el("span.function", shown(variable.name)),
            variable.file === undefined
              ? null
              : el("span.place", shown(`${variable.file}:${variable.line ?? 0}`)),
          );
        const number = variable[id as (typeof NUMBERS)[number]];
        if (number === undefined) return "";
        return amount(number, id === "bytes" || id === "untouched" || id === "unread" ? "bytes" : "accesses");
      },
    }),
  );
}
