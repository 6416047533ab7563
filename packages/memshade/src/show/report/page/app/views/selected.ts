// The selection, in a line at the bottom of the page, common to all views.
import { h } from "preact";
import { useMemo } from "preact/hooks";
import type { PageModel } from "../model/page-model.ts";
import { rowName } from "../model/row-name.ts";
import { amount, difference, formatCount, formatPercent, margin } from "../parts/amounts.ts";
import { el } from "../parts/element.ts";
import { Sparkline } from "../parts/pictures.ts";
import { shown } from "../parts/shown-text.ts";
import { Word } from "../parts/word.ts";
import type { PageState } from "../state.ts";
import { select, type ViewProps } from "./view.ts";

export function Selected({ model, state, change }: ViewProps) {
  const selected = model.selected(state);
  const figures = model.figures(state);
  const contexts = useMemo(
    () => Int32Array.from(selected?.keys() ?? []).filter((context) => selected![context] === 1),
    [selected],
  );
  const sums = useMemo(
    () =>
      figures.map((figure) => ({
        figure,
        sum: sumOf(figure.values, contexts) + (model.missingOfSelection(figure, state) ?? 0),
        off: model.margins.of(figure, contexts),
      })),
    [figures, contexts],
  );
  const merged = useMemo(() => model.mergedIn(contexts), [model, contexts]);
  // Sums over everything may lack amounts only for weights of the whole run.
  const isIncomplete = figures.some((figure) => model.missingOfSelection(figure, state) === undefined);
  const line = useMemo(() => model.life?.line(contexts), [model, contexts]);
  if (selected === undefined)
    return h(
      "footer",
      { class: "selected", "aria-label": "Selected" },
      el("span.title", "Nothing selected"),
      el("span.dim", "Click a finding, row, line or box to see its figures here."),
    );
  const ratios = model.data.ratios.flatMap((ratio) => {
    const dividend = sums.find(({ figure }) => figure.id === ratio.of);
    const by = sums.find(({ figure }) => figure.id === ratio.by);
    return dividend && by && by.sum > 0 && dividend.sum > 0 ? [{ ratio, value: dividend.sum / by.sum }] : [];
  });
  const isDifference = model.data.kind === "diff" && state.side === "difference";
  return h(
    "footer",
    { class: "selected", "aria-label": "Selected" },
    el("span.title", shown(titleOfSelection(model, state, merged))),
    line === undefined ? null : h(Sparkline, { values: line }),
    h(
      "dl",
      // Focusable, because the element scrolls.
      { tabIndex: 0 },
      sums
        .filter(({ sum }) => sum !== 0)
        .map(({ figure, sum, off }) =>
          h(
            "div",
            { key: figure.id, class: figure.id === model.weight(state)?.id ? "chosen" : undefined },
            el("dt", h(Word, { word: figure.word, children: figure.label })),
            el(
              "dd",
              (isDifference ? difference : amount)(sum, figure.unit, figure.clock),
              el("span.dim", margin(off, figure.unit)),
              isDifference || figure.unit === "clock"
                ? null
                : el("span.dim", ` ${formatPercent(sum, figure.total)} of total`),
              figure.isWholeRun ? el("span.dim", " whole run") : null,
            ),
          ),
        ),
      isDifference
        ? null
        : ratios.map(({ ratio, value }) =>
            h(
              "div",
              { key: ratio.id },
              el("dt", h(Word, { word: ratio.word, children: ratio.label })),
              el("dd", amount(value, ratio.unit, ratio.clock)),
            ),
          ),
      merged === undefined || merged === 0
        ? null
        : h("div", { key: "merged" }, el("dt", "merged call paths"), el("dd", formatCount(merged))),
      isIncomplete
        ? h("div", { key: "lacks" }, el("dt", "merged call paths"), el("dd", "not included in these sums"))
        : null,
    ),
    h(
      "button",
      {
        type: "button",
        "aria-label": "Clear the selection",
        title: "Clear the selection (Escape)",
        onClick: () => change(select({})),
      },
      "×",
    ),
  );
}

function sumOf(values: Float64Array, contexts: Int32Array): number {
  let sum = 0;
  for (const context of contexts) sum += values[context];
  return sum;
}

/** @param merged number of selected merged call paths */
function titleOfSelection(model: PageModel, state: PageState, merged: number | undefined): string {
  const { names, data } = model;
  if (state.site !== undefined && state.site < data.contexts.length) {
    const [frame, caller] = model.shownPath(state.site, state);
    const by = caller === undefined ? "" : ` ← ${names.function(caller)}`;
    const { name, place } = rowName(names, frame, "site", merged);
    return `${name} ${place}`.trimEnd() + by;
  }
  if (state.frame !== undefined && state.frame < data.frames.length) {
    const { name, place } = rowName(names, state.frame, state.frameOf, merged);
    return `${name} ${place}`.trimEnd();
  }
  const finding = model.selectedFinding(state)!;
  const at = finding.path[0];
  const where = at === undefined ? "" : ` ${names.function(at)} ${names.place(at)}`;
  return `Finding ${formatCount(data.findings.indexOf(finding) + 1)}: ${finding.kind}${where}`;
}
