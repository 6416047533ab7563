// A table of any length that renders only the visible rows. All rows have the same height.
import { type ComponentChildren, h } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { el } from "./element.ts";
import { useMedia } from "./media.ts";

export interface TableColumn {
  readonly id: string;
  readonly label: ComponentChildren;
  /** Width as in `grid-template-columns`. */
  readonly width: string;
  readonly isNumber: boolean;
  readonly canSort?: boolean;
}

export interface TableProps {
  readonly label: string;
  readonly columns: readonly TableColumn[];
  readonly rows: number;
  cell(row: number, column: TableColumn): ComponentChildren;
  /** Returns the identity of a row; its index by default. */
  keyOf?(row: number): string | number;
  isSelected?(row: number): boolean;
  onSelect?(row: number): void;
  readonly sort?: { readonly id: string; readonly ascending: boolean };
  onSort?(id: string): void;
}

const ROW_PIXELS = 28;
/** Rows rendered above and below the visible ones, for fast scrolling. */
const SPARE = 8;
/** Most rows on paper, where scrolling is impossible. */
const PRINTED = 500;

export function VirtualTable(props: TableProps) {
  const { label, columns, rows, cell, keyOf, isSelected, onSelect, sort, onSort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 600 });
  const [focused, setFocused] = useState(0);
  const wantsFocus = useRef(false);
  const isPrinted = useMedia("print");

  useLayoutEffect(() => {
    const element = scroller.current!;
    const measure = () => setPlace({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  const current = Math.min(focused, Math.max(0, rows - 1));
  const first = isPrinted ? 0 : Math.max(0, Math.floor(place.top / ROW_PIXELS) - SPARE);
  const end = isPrinted
    ? Math.min(rows, PRINTED)
    : Math.min(rows, Math.ceil((place.top + place.height) / ROW_PIXELS) + SPARE);
  const inSight = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
  // The focused row stays rendered, so that it keeps the focus.
  if (!isPrinted && rows > 0 && (current < first || current >= end)) inSight.push(current);

  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    scroller.current?.querySelector<HTMLElement>(`[data-row="${current}"]`)?.focus({ preventScroll: true });
  });

  const go = (row: number) => {
    const target = Math.min(rows - 1, Math.max(0, row));
    const element = scroller.current!;
    const top = target * ROW_PIXELS;
    const visible = element.clientHeight - 2 * ROW_PIXELS;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + visible) element.scrollTop = top - visible;
    wantsFocus.current = true;
    setFocused(target);
    setPlace({ top: element.scrollTop, height: element.clientHeight });
  };
  const page = Math.max(1, Math.floor(place.height / ROW_PIXELS) - 2);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target as HTMLElement).matches("[data-row]")) return;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      j: 1,
      k: -1,
      Home: -rows,
      End: rows,
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (Object.hasOwn(steps, event.key)) go(current + steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") onSelect?.(current);
    else return;
    event.preventDefault();
  };

  const template = { gridTemplateColumns: columns.map(({ width }) => width).join(" ") };
  return h(
    "div",
    {
      ref: scroller,
      class: "table",
      role: "grid",
      "aria-label": label,
      "aria-rowcount": rows + 1,
      "aria-colcount": columns.length,
      onScroll: () => setPlace({ top: scroller.current!.scrollTop, height: scroller.current!.clientHeight }),
      onKeyDown,
    },
    h(
      "div",
      { class: "sheet", role: "presentation" },
      h(
        "div",
        { class: "heads", role: "rowgroup" },
        h(
          "div",
          { class: "row", role: "row", "aria-rowindex": 1, style: template },
          columns.map((column) =>
            h(
              "div",
              {
                key: column.id,
                role: "columnheader",
                class: column.isNumber ? "cell number" : "cell",
                "aria-sort":
                  sort?.id === column.id ? (sort.ascending ? "ascending" : "descending") : undefined,
              },
              column.canSort === false || !onSort
                ? column.label
                : h(
                    "button",
                    { type: "button", onClick: () => onSort(column.id) },
                    column.label,
                    sort?.id === column.id
                      ? h("span", { "aria-hidden": "true" }, sort.ascending ? " ▴" : " ▾")
                      : null,
                  ),
            ),
          ),
        ),
      ),
      h(
        "div",
        { class: "rows", role: "rowgroup", style: isPrinted ? {} : { height: `${rows * ROW_PIXELS}px` } },
        inSight.map((row) =>
          h(
            "div",
            {
              key: keyOf?.(row) ?? row,
              class: "row",
              role: "row",
              "data-row": row,
              "aria-rowindex": row + 2,
              "aria-selected": isSelected ? isSelected(row) : undefined,
              tabIndex: row === current ? 0 : -1,
              style: isPrinted ? template : { ...template, top: `${row * ROW_PIXELS}px` },
              onClick: () => {
                setFocused(row);
                onSelect?.(row);
              },
            },
            columns.map((column) =>
              h(
                "div",
                { key: column.id, role: "gridcell", class: column.isNumber ? "cell number" : "cell" },
                cell(row, column),
              ),
            ),
          ),
        ),
      ),
    ),
    isPrinted && rows > PRINTED ? el("p", `The first ${PRINTED} of ${rows} rows.`) : null,
  );
}
