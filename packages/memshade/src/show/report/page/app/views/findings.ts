// Findings of all tools in one list: cost, kind, location and advice.
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { sum } from "../../../../../ground/bytes/numbers.ts";
import { glossaryEntry } from "../../../glossary.ts";
import type { PageFinding } from "../../data/page-data.ts";
import { frameKeys } from "../model/grouping.ts";
import type { PageModel } from "../model/page-model.ts";
import { sumRows } from "../model/site-rows.ts";
import { amount, amountInWords, amountOf, difference, formatPercent, margin } from "../parts/amounts.ts";
import { copyText } from "../parts/copy-text.ts";
import { el } from "../parts/element.ts";
import { FrameName } from "../parts/frame-name.ts";
import { Hints, NotTracked } from "../parts/hints.ts";
import { Bar } from "../parts/pictures.ts";
import { shown } from "../parts/shown-text.ts";
import { SourceExcerpt } from "../parts/source-excerpt.ts";
import { select, type ViewProps } from "./view.ts";

/** Most paths listed per finding. */
const PATHS = 6;
/** Most frames shown per path. */
const FRAMES = 6;
/** Most sites listed below the findings. */
const LARGEST = 8;

export function Findings({ model, state, change }: ViewProps) {
  const { findings, head } = model.data;
  const list = useRef<HTMLOListElement>(null);
  const matches = model.matches(state);
  const listed = [...findings.keys()].filter(
    (index) =>
      !state.hidden.includes(findings[index].kind) && isOnPath(findings[index], matches, state.filter),
  );
  const open = state.open ?? listed.slice(0, 1);
  const toggle = (index: number) =>
    change({
      ...select({ finding: index }),
      open: open.includes(index) ? open.filter((openIndex) => openIndex !== index) : [...open, index],
    });

  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
    if (step === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const heads = [...list.current!.querySelectorAll<HTMLElement>(".finding-head")];
    const at = heads.findIndex((head) => head.closest("li")!.contains(document.activeElement));
    heads[Math.min(heads.length - 1, Math.max(0, at + step))]?.focus();
    event.preventDefault();
  };
  useEffect(() => {
    // The keys work everywhere except in elements that handle letters themselves.
    const follow = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement;
      if (!at.matches("input, select, textarea, [role=grid] *, canvas, [role=tree] *")) onKeyDown(event);
    };
    addEventListener("keydown", follow);
    return () => removeEventListener("keydown", follow);
  });

  return el(
    "div.findings",
    h(Hints, { hints: head.hints }),
    model.data.kind === "diff" && findings.length > 0 ? el("p.changes", changesOf(findings)) : null,
    findings.length > 1 ? h(Kinds, { model, state, change }) : null,
    findings.length > 0 && listed.length === 0
      ? el("p.nothing", "No finding matches the filter and the selected kinds.")
      : null,
    h(
      "ol",
      { ref: list, class: "finding-list" },
      listed.map((index) =>
        h(Finding, {
          key: index,
          model,
          state,
          change,
          index,
          isOpen: open.includes(index),
          onToggle: () => toggle(index),
        }),
      ),
    ),
    h(Largest, { model, state, change }),
  );
}

/** Counts new, gone and unchanged findings of a comparison. */
function changesOf(findings: readonly PageFinding[]): string {
  const count = (wanted: PageFinding["change"]) => findings.filter(({ change }) => change === wanted).length;
  return `Findings: ${count("new")} new, ${count("gone")} gone, ${count("kept")} unchanged.`;
}

/** Largest sites: the answer if there is nothing to fix. */
function Largest({ model, state, change }: ViewProps) {
  const { kind, findings } = model.data;
  const weight = model.weight(state);
  if (weight === undefined) return el("p.nothing", nothingToRank(model.data));
  const grouping = model.grouping(state, "site");
  const sums = sumRows(grouping, weight.values);
  const isDifference = model.data.kind === "diff" && state.side === "difference";
  const order = [...sums.keys()]
    .filter((row) => sums[row] !== 0)
    .sort((a, b) => Math.abs(sums[b]) - Math.abs(sums[a]) || a - b);
  const nothing = findings.length === 0 && kind !== "diff" ? noFinding(model.data) : undefined;
  if (order.length === 0)
    return [
      el("p.nothing", isDifference ? `No change: ${weight.label}.` : nothing),
      // The reason for the empty record is all that can be shown.
      isEmpty(model.data) ? h(NotTracked, { sentences: model.data.head.notTracked }) : null,
    ];
  return h(
    "section",
    { class: "largest", "aria-labelledby": "largest" },
    nothing === undefined ? null : el("p.nothing", nothing),
    h("h2", { id: "largest" }, `${isDifference ? "Largest changes" : "Largest sites"}: ${weight.label}`),
    el(
      "ol",
      order.slice(0, LARGEST).map((row) =>
        h(
          "li",
          { key: row },
          el(
            "span.amount",
            (isDifference ? difference : amount)(sums[row], weight.unit, weight.clock),
            el(
              "span.off",
              isDifference
                ? ""
                : margin(
                    model.margins.of(
                      weight,
                      grouping.contexts.subarray(grouping.offset[row], grouping.offset[row + 1]),
                    ),
                    weight.unit,
                  ),
            ),
          ),
          el(
            "span.part",
            h(Bar, { part: Math.abs(sums[row] / sums[order[0]]), of: "strong" }),
            el("span.percent", isDifference ? "" : formatPercent(sums[row], weight.total)),
          ),
          h(
            "button",
            {
              type: "button",
              class: "path",
              onClick: () => change(select({ frame: grouping.frames[row], frameOf: "site" })),
            },
            h(FrameName, { names: model.names, frame: grouping.frames[row] }),
            state.folded && model.names.is(grouping.frames[row], "library")
              ? el("span.change", shown(model.names.package(grouping.frames[row])))
              : null,
          ),
        ),
      ),
    ),
  );
}

/** A working set alone has sizes over time, but no call paths. */
function nothingToRank({ timelines }: PageModel["data"]): string {
  return timelines.length === 0
    ? "Nothing was recorded."
    : "The record over time is shown above. It has no call paths to rank.";
}

function isEmpty({ weights }: Pick<PageModel["data"], "weights">): boolean {
  return weights.every(({ total, totalBefore = 0 }) => total === 0 && totalBefore === 0);
}

/** Data that was not recorded has no findings. */
function noFinding({ head, weights, objects }: PageModel["data"]): string {
  if (isEmpty({ weights })) return "No findings: nothing was recorded.";
  const knowsUse =
    weights.some(({ id }) => ["accesses", "dead", "unread"].includes(id)) ||
    head.keys.some(({ word }) => word === "never-read") ||
    objects.some(({ tool, cells }) => tool === "objects" && cells.reads !== undefined);
  if (knowsUse) return "No findings in the program's own code. Code without names is not searched.";
  return `No findings. Accesses were not recorded, so the search for unread blocks was left out${head.notTracked.length > 0 ? " (see Help)" : ""}.`;
}

/** Kinds of findings as switches. */
function Kinds({ model, state, change }: ViewProps) {
  const counts = new Map<string, number>();
  for (const { kind } of model.data.findings) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  if (counts.size < 2) return null;
  return h(
    "div",
    { class: "kinds", role: "group", "aria-label": "Shown kinds of findings" },
    [...counts].map(([kind, count]) =>
      h(
        "button",
        {
          key: kind,
          type: "button",
          class: "chip",
          "aria-pressed": !state.hidden.includes(kind),
          title: glossaryEntry(kind)?.text,
          onClick: () =>
            change({
              hidden: state.hidden.includes(kind)
                ? state.hidden.filter((hiddenKind) => hiddenKind !== kind)
                : [...state.hidden, kind],
            }),
        },
        shown(kind),
        el("span.count", count),
      ),
    ),
  );
}

interface FindingProps extends ViewProps {
  readonly index: number;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function Finding({ model, state, change, index, isOpen, onToggle }: FindingProps) {
  const finding = model.data.findings[index];
  const isSelected = model.selectedFinding(state) === finding;
  const place = finding.path.length > 0 ? model.names.place(finding.path[0]) : "";
  return h(
    "li",
    { class: isSelected ? "finding selected" : "finding" },
    el(
      "h2",
      h(
        "button",
        { type: "button", class: "finding-head", "aria-expanded": isOpen, onClick: onToggle },
        h("span", { class: "rank", "aria-hidden": "true" }, index + 1),
        el("span.kind", shown(finding.kind)),
        el(
          "span.amount",
          `${finding.margin === undefined ? "" : "≈"}${amountInWords(finding.amount, finding.unit)}`,
          el("span.off", margin(finding.margin ?? 0, finding.unit)),
        ),
        el(
          "span.where",
          finding.path.length > 0
            ? [
                h(
                  "span",
                  // If space is short, the sentence with the location suffices.
                  { class: !isOpen && finding.says.includes(place) ? "told" : undefined },
                  h(FrameName, { names: model.names, frame: finding.path[0] }),
                ),
                isOpen ? null : el("span.short", shown(finding.says)),
              ]
            : shown(finding.says),
          finding.change && finding.change !== "kept" ? el("span.change", finding.change) : null,
        ),
        h(
          "span",
          { class: "part", title: `${formatPercent(finding.part, 1)}: ${finding.partOf.long}` },
          h(Bar, { part: finding.part, of: "strong" }),
          el("span.percent", formatPercent(finding.part, 1)),
          el("span.of", finding.partOf.short),
        ),
      ),
    ),
    isOpen ? h(Details, { model, state, change, index }) : null,
  );
}

function Details({ model, state, change, index }: ViewProps & { readonly index: number }) {
  const finding = model.data.findings[index];
  const figures = model.figures(state);
  const [copied, setCopied] = useState("");
  const frame = finding.path[0];
  const marks =
    frame === undefined ? [] : [{ line: model.names.line(frame), note: lineNote(model, finding) }];
  return el(
    "div.details",
    el("p.says", shown(finding.says)),
    h(InRange, { model, state, finding }),
    frame === undefined ? null : h(SourceExcerpt, { model, frame, marks }),
    finding.contexts.length > 0 ? h(Paths, { model, state, change, index }) : null,
    finding.advice === undefined ? null : el("p.advice", shown(finding.advice)),
    el(
      "div.actions",
      finding.contexts.length === 0 || figures.length === 0
        ? null
        : [
            h(
              "button",
              {
                type: "button",
                onClick: () =>
                  change({
                    ...select({ finding: index }),
                    tab: "graph",
                    weight: finding.weight ?? state.weight,
                  }),
              },
              "Show in graph",
            ),
            h(
              "button",
              {
                type: "button",
                onClick: () =>
                  change({
                    ...select({ finding: index }),
                    tab: "sites",
                    weight: finding.weight ?? state.weight,
                    sort: finding.weight,
                  }),
              },
              "Sites",
            ),
          ],
      frame !== undefined && model.names.file(frame) !== undefined
        ? h(
            "button",
            {
              type: "button",
              onClick: () =>
                change({
                  ...select({ finding: index }),
                  tab: "source",
                  weight: finding.weight ?? state.weight,
                }),
            },
            "Source",
          )
        : null,
      finding.objects.length > 0
        ? h(
            "button",
            { type: "button", onClick: () => change({ ...select({ finding: index }), tab: "blocks" }) },
            "Blocks",
          )
        : null,
      h(
        "button",
        {
          type: "button",
          onClick: async () => {
            change({ ...select({ finding: index }), tab: "findings", open: [index] });
            setCopied((await copyText(location.href)) ? "Link copied" : location.href);
          },
        },
        "Copy link",
      ),
      h("span", { role: "status", class: "dim" }, copied),
    ),
  );
}

/** Formats sums of the finding's contexts, for the end of its source line. */
function lineNote({ data }: PageModel, { contexts, weight }: PageFinding): string {
  const ids = [...new Set([weight, "bytes", "blocks", "left"])];
  return data.weights
    .filter(({ id }) => ids.includes(id))
    .map((found) => ({ ...found, sum: contexts.reduce((sum, context) => sum + found.values[context], 0) }))
    .filter((found) => found.sum !== 0)
    .map((found) => amountOf(found.sum, found))
    .join(" · ");
}

/** Amounts of the finding in the selected range, as far as recorded. */
function InRange({ model, state, finding }: Omit<ViewProps, "change"> & { finding: PageFinding }) {
  if (state.range === undefined) return null;
  const inRange = model
    .figures(state)
    .filter((figure) => !figure.isWholeRun && figure.tool === finding.tool)
    .map((figure) => {
      const part = finding.contexts.reduce((sum, context) => sum + figure.values[context], 0);
      return amountOf(part, figure);
    });
  return el(
    "p.in-range",
    inRange.length === 0 || finding.contexts.length === 0
      ? "Whole run: this was not recorded over time."
      : `In the range: ${inRange.join(" · ")}. All other figures refer to the whole run.`,
  );
}

/** Call paths of a finding, with their shares. */
function Paths({ model, state, change, index }: ViewProps & { readonly index: number }) {
  const finding = model.data.findings[index];
  const weight = model.data.weights.find(({ id }) => id === finding.weight);
  const keyOf = frameKeys(model.data, model.names, "site");
  const byPath = new Map<string, { context: number; path: number[]; amount: number }>();
  for (const context of finding.contexts) {
    const path = model.shownPath(context, state);
    const key = path.map(keyOf).join("\n");
    const found = byPath.get(key) ?? { context, path, amount: 0 };
    found.amount += weight?.values[context] ?? 0;
    byPath.set(key, found);
  }
  const paths = [...byPath.values()].sort((a, b) => b.amount - a.amount);
  const total = sum(Float64Array.from(paths, (path) => path.amount));
  const hiddenPaths = paths.slice(PATHS);
  return el(
    "div.paths",
    el("h3", paths.length === 1 ? "Call path" : `Call paths (${paths.length})`),
    el(
      "ul",
      paths.slice(0, PATHS).map(({ context, path, amount: part }) =>
        h(
          "li",
          { key: context },
          total > 0 && weight && paths.length > 1
            ? el(
                "span.path-share",
                `${amount(part, weight.unit, weight.clock)} · ${formatPercent(part, total)}`,
              )
            : null,
          h(
            "button",
            {
              type: "button",
              class: "path",
              title: "Select this call path",
              onClick: () => change(select({ site: context, alone: true })),
            },
            path.map((frame, depth) =>
              // A long path shows its beginning and the outermost caller.
              path.length > FRAMES + 1 && depth >= FRAMES && depth < path.length - 1
                ? depth === FRAMES
                  ? el("span.arrow", ` ← … ${path.length - 1 - FRAMES} more`)
                  : null
                : [depth === 0 ? null : el("span.arrow", " ← "), h(FrameName, { names: model.names, frame })],
            ),
          ),
        ),
      ),
      hiddenPaths.length === 0
        ? null
        : el(
            "li.dim",
            `${hiddenPaths.length} more`,
            weight && total > 0
              ? ` with ${amount(sum(Float64Array.from(hiddenPaths, (path) => path.amount)), weight.unit, weight.clock)}`
              : "",
            ": see Sites, grouped by call path",
          ),
    ),
  );
}

function isOnPath(finding: PageFinding, matches: Uint8Array | undefined, filter: string): boolean {
  if (matches === undefined || finding.contexts.some((context) => matches[context] === 1)) return true;
  return finding.contexts.length === 0 && finding.says.toLowerCase().includes(filter.toLowerCase());
}
