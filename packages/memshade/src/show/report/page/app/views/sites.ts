// All sites with all their figures: a table that can be grouped, sorted, filtered and copied.
import { h } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Figure } from "../model/figures.ts";
import { rowName } from "../model/row-name.ts";
import { type FigureColumn, NAME, type SiteRows, siteRows } from "../model/site-rows.ts";
import { asMarkdown, asTsv, type Cell } from "../model/table-text.ts";
import { amount, difference, formatCount, margin, roomOf } from "../parts/amounts.ts";
import { copyText } from "../parts/copy-text.ts";
import { el } from "../parts/element.ts";
import { titleOf } from "../parts/frame-name.ts";
import { useMedia } from "../parts/media.ts";
import { Bar, Sparkline } from "../parts/pictures.ts";
import { shown } from "../parts/shown-text.ts";
import { type TableColumn, VirtualTable } from "../parts/virtual-table.ts";
import { Word } from "../parts/word.ts";
import { GROUPS, type Group } from "../state.ts";
import { select, type ViewProps } from "./view.ts";

/** Number columns that fit on paper, and their width. */
const PRINTED_COLUMNS = 6;
const PRINTED_WIDTH = 4.6;

/** Column of sparklines. */
const LIVE = "#live";

const GROUP_NAMES: Readonly<Record<Group, string>> = {
  path: "call path",
  site: "site",
  line: "line",
  function: "function",
  file: "file",
  package: "package",
};

export function Sites({ model, state, change }: ViewProps) {
  const key = JSON.stringify([
    state.range,
    state.weight,
    state.group,
    state.sort,
    state.ascending,
    state.filter,
    state.folded,
    state.side,
  ]);
  const rows = useMemo(() => siteRows(model, state), [model, key]);
  const { grouping, order, sort } = rows;
  const isPrinted = useMedia("print");
  const columns = isPrinted ? printedColumns(rows) : rows.columns;
  const selected = model.selected(state);
  const matches = model.matches(state);
  const contextsOf = (row: number) =>
    grouping.contexts.subarray(grouping.offset[row], grouping.offset[row + 1]);
  const marginOf = (figure: Figure, row: number) => {
    const contexts = contextsOf(row).filter((context) => matches?.[context] !== 0);
    return margin(model.margins.of(figure, contexts), figure.unit);
  };
  const isWhole = (row: number) =>
    selected !== undefined && contextsOf(row).every((context) => selected[context] === 1);

  const tableColumns: TableColumn[] = [
    {
      id: NAME,
      label: GROUP_NAMES[state.group],
      // The column stays in place when others scroll: narrow screens have space for one figure beside it.
      width: isPrinted ? "minmax(0, 1fr)" : "minmax(min(17rem, 40vw), 1fr)",
      isNumber: false,
    },
    ...(model.life
      ? [
          {
            id: LIVE,
            label: "live over time",
            width: isPrinted ? "4rem" : "6.5rem",
            isNumber: false,
            canSort: false,
          },
        ]
      : []),
    ...columns.map((column) => ({
      id: column.id,
      label: h(Word, { word: wordOf(column), children: labelOf(column) }),
      width: `${isPrinted ? PRINTED_WIDTH * printedRoom(column) : shownRoom(column)}rem`,
      isNumber: true,
    })),
  ];
  const figureOf = new Map(columns.map((column) => [column.id, column]));
  return el(
    "div.sites",
    h(Toolbar, { model, state, change, rows }),
    h(VirtualTable, {
      label: `Sites by ${GROUP_NAMES[state.group]}`,
      columns: tableColumns,
      rows: order.length,
      keyOf: (index) => order[index],
      cell: (index, { id }) => {
        const row = order[index];
        if (id === NAME) {
          const frame = grouping.frames[row];
          const { name, place } = rowName(model.names, frame, grouping.group);
          const path =
            grouping.group === "path" ? model.shownPath(contextsOf(row)[0], state).slice(1) : undefined;
          return h(
            "span",
            {
              class: "frame",
              title: path
                ? [frame, ...path].map((frameNumber) => titleOf(model.names, frameNumber)).join("\n← ")
                : titleOf(model.names, frame),
            },
            el("span.function", shown(name)),
            el("span.place", shown(place)),
            path && path.length > 0
              ? el(
                  "span.dim.callers",
                  path.map((frameNumber) => `← ${shown(model.names.function(frameNumber))}`).join(" "),
                )
              : null,
          );
        }
        if (id === LIVE) return h(Sparkline, { values: model.life!.line(contextsOf(row)) });
        const column = figureOf.get(id)!;
        const value = column.values[row];
        return [
          h(
            "span",
            { class: value === 0 || Number.isNaN(value) ? "value none" : "value" },
            write(column, value, model),
            isSampled(column) ? el("span.dim", marginOf(column.figure!, row)) : null,
          ),
          h(Bar, { part: Math.abs(value) / column.most || 0 }),
        ];
      },
      isSelected: (index) => isWhole(order[index]),
      onSelect: (index) => {
        const row = order[index];
        if (isWhole(row) && state.finding === undefined) change(select({}));
        else if (state.group === "path") change(select({ site: contextsOf(row)[0], alone: true }));
        else change(select({ frame: grouping.frames[row], frameOf: state.group }));
      },
      sort: { id: sort, ascending: state.ascending },
      onSort: (id) => change({ sort: id, ascending: id === sort ? !state.ascending : id === NAME }),
    }),
  );
}

function isSampled({ figure }: FigureColumn): boolean {
  return figure?.deviations !== undefined;
}

/** Returns the width of a column on a screen, rem: estimates include their margin of error. */
function shownRoom(column: FigureColumn): number {
  return Math.max(isSampled(column) ? 11 : 0, roomOf((column.figure ?? column.ratio)!));
}

/** Returns the width of a column on paper, in columns: estimates include their margin of error. */
function printedRoom(column: FigureColumn): number {
  return isSampled(column) ? 2 : 1;
}

/** Returns as many columns as fit on paper: the one that sorts the rows, and the first others. */
function printedColumns({ columns, sort }: SiteRows): FigureColumn[] {
  const inOrder = [...columns].sort((a, b) => Number(b.id === sort) - Number(a.id === sort));
  const ends = inOrder.map((_, index) =>
    inOrder.slice(0, index + 1).reduce((sum, column) => sum + printedRoom(column), 0),
  );
  const fitting = new Set(inOrder.filter((_, index) => ends[index]! <= PRINTED_COLUMNS));
  return columns.filter((column) => fitting.has(column));
}

function Toolbar({ model, state, change, rows }: ViewProps & { readonly rows: SiteRows }) {
  const [status, setStatus] = useState("");
  const copy = async (write: typeof asTsv) => {
    const text = tableText(model, state, rows, write);
    setStatus(
      (await copyText(text))
        ? `${formatCount(rows.order.length)} rows copied`
        : "The browser refused to copy",
    );
  };
  const wholeRun = rows.columns.filter(({ figure }) => figure?.isWholeRun);
  return el(
    "div.toolbar",
    el(
      "label",
      "Group by ",
      h(
        "select",
        {
          value: state.group,
          onChange: (event: Event) =>
            change({ group: (event.currentTarget as HTMLSelectElement).value as Group }),
        },
        GROUPS.map((group) => h("option", { key: group, value: group }, GROUP_NAMES[group])),
      ),
    ),
    h("span", { class: "dim", role: "status" }, `${formatCount(rows.order.length)} rows`),
    h("span", { class: "spacer" }),
    h("span", { role: "status", class: "dim" }, status),
    h("button", { type: "button", onClick: () => copy(asTsv) }, "Copy as TSV"),
    h("button", { type: "button", onClick: () => copy(asMarkdown) }, "Copy as Markdown"),
    el(
      "p.on-paper",
      `${printedColumns(rows).length} of ${rows.columns.length} figures are printed. A copy has all of them.`,
    ),
    state.range !== undefined && wholeRun.length > 0
      ? el("p.whole-run", `Whole run, not the selected range: ${wholeRun.map(labelOf).join(", ")}.`)
      : null,
  );
}

/** Formats the rows in order as text, with raw numbers. */
function tableText(
  model: ViewProps["model"],
  state: ViewProps["state"],
  { grouping, columns, order }: SiteRows,
  write: typeof asTsv,
): string {
  const heads = [GROUP_NAMES[state.group], "place", ...columns.map(labelWithUnit)];
  const cells = Array.from(order, (row): Cell[] => {
    const { name, place } = rowName(model.names, grouping.frames[row], grouping.group);
    const context = grouping.contexts[grouping.offset[row]];
    const path =
      grouping.group === "path"
        ? model
            .shownPath(context, state)
            .map((frame) => model.names.function(frame))
            .join(" < ")
        : name;
    return [path, place, ...columns.map(({ values }) => (Number.isNaN(values[row]) ? "" : values[row]))];
  });
  return write(heads, cells);
}

function write({ figure, ratio }: FigureColumn, value: number, model: ViewProps["model"]): string {
  if (Number.isNaN(value) || (value === 0 && figure)) return "·";
  if (!Number.isFinite(value)) return "∞";
  if (ratio) return amount(value, ratio.unit, ratio.clock);
  const isDifference =
    model.data.kind === "diff" && figure!.values !== figure!.after && figure!.values !== figure!.before;
  return (isDifference ? difference : amount)(value, figure!.unit, figure!.clock);
}

function labelOf({ figure, ratio }: FigureColumn): string {
  return (figure ?? ratio)!.label;
}

function wordOf({ figure, ratio }: FigureColumn): string {
  return (figure ?? ratio)!.word;
}

function labelWithUnit(column: FigureColumn): string {
  const { unit, label, clock } = (column.figure ?? column.ratio)!;
  return unit === "bytes" || unit === "count" || label.includes(unit) ? label : `${label} (${clock ?? unit})`;
}
