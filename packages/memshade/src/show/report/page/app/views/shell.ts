// Frame of all views: head, key figures, timelines, tabs, and the selection.

import { Component, type ComponentType, h } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { counted, groupDigits } from "../../../../../profile/model/counted.ts";
import { GLOSSARY } from "../../../glossary-words.ts";
import type { PageData, PageKey } from "../../data/page-data.ts";
import { Graph } from "../../graph/graph.ts";
import { TimeStrip } from "../../time/timeline.ts";
import { PageModel } from "../model/page-model.ts";
import { amount, difference, formatCount, margin } from "../parts/amounts.ts";
import { el } from "../parts/element.ts";
import { Hints, NotTracked } from "../parts/hints.ts";
import { useScheme } from "../parts/scheme.ts";
import { shown } from "../parts/shown-text.ts";
import { Word } from "../parts/word.ts";
import { type PageState, type SelectedBox, TABS, type Tab, useAddress } from "../state.ts";
import { Blocks } from "./blocks.ts";
import { Cache } from "./cache.ts";
import { Diff } from "./diff.ts";
import { Findings } from "./findings.ts";
import { Selected } from "./selected.ts";
import { Sites } from "./sites.ts";
import { Source } from "./source.ts";
import { select, type ViewProps } from "./view.ts";

interface TabEntry {
  readonly label: string;
  readonly view: ComponentType<ViewProps>;
  /** True if the view has data. */
  has(data: PageData): boolean;
}

const TAB_ENTRIES: Readonly<Record<Tab, TabEntry>> = {
  findings: {
    label: "Findings",
    view: Findings,
    has: ({ kind, findings }) => kind !== "samples" || findings.length > 0,
  },
  graph: { label: "Graph", view: GraphView, has: hasAmounts },
  sites: { label: "Sites", view: Sites, has: hasAmounts },
  source: {
    label: "Source",
    view: Source,
    has: ({ frames }) => frames.line.some((line) => line > 0),
  },
  blocks: {
    label: "Blocks",
    view: Blocks,
    has: ({ objects, histograms, statics }) => objects.length + histograms.length + statics.length > 0,
  },
  cache: { label: "Cache", view: Cache, has: ({ cache }) => cache !== undefined },
  diff: { label: "Diff", view: Diff, has: ({ kind }) => kind === "diff" },
  help: { label: "Help", view: Help, has: () => true },
};

function hasAmounts({ weights }: PageData): boolean {
  return weights.some(({ values, before }) =>
    [values, before].some((column) => column?.some((value) => value !== 0)),
  );
}

export function Shell({ data }: { data: PageData }) {
  const model = useMemo(() => new PageModel(data), [data]);
  const [state, change] = useAddress();
  const tabs = TABS.filter((tab) => TAB_ENTRIES[tab].has(data));
  const tab = tabs.includes(state.tab) ? state.tab : tabs[0];
  useShortcuts(state, change, tabs);
  const props = { model, state, change };
  return el(
    "div.page",
    h(Head, props),
    el(
      "main",
      data.head.keys.length > 0 ? h(Keys, props) : null,
      h(TimeStrip, {
        data,
        names: model.names,
        state,
        selected: model.selected(state),
        onChange: change,
      }),
      h(Tabs, { ...props, tabs, tab }),
      h(
        "div",
        {
          id: "view",
          role: "tabpanel",
          "aria-labelledby": `tab-${tab}`,
          class: `view view-${tab}`,
          // Focusable, because the element scrolls.
          tabIndex: 0,
        },
        h(Guarded, { key: tab, view: TAB_ENTRIES[tab].view, props }),
      ),
    ),
    h(Selected, props),
  );
}

interface GuardedProps {
  readonly view: ComponentType<ViewProps>;
  readonly props: ViewProps;
}

/** Shows the error of a failed view; the other views keep working. */
class Guarded extends Component<GuardedProps, { error?: Error | undefined }> {
  override componentDidCatch(error: Error): void {
    this.setState({ error });
    console.error(error);
  }

  override render() {
    const { error } = this.state;
    return error === undefined
      ? h(this.props.view, this.props.props)
      : h("p", { class: "nothing", role: "alert" }, `This view cannot be shown: ${shown(error.message)}`);
  }
}

function Head({ model, state, change }: ViewProps) {
  const { head, kind } = model.data;
  const [scheme, nextScheme] = useScheme();
  const { mistakes } = model.filter(state);
  const matches = model.matches(state);
  const weight = model.weight(state);
  const found =
    matches && weight
      ? weight.values.reduce((sum, value, context) => sum + (matches[context] === 1 ? value : 0), 0)
      : undefined;
  const hasLibraries = useMemo(() => model.data.frames.library.some((library) => library >= 0), [model]);
  return el(
    "header",
    el("span.brand", "memshade"),
    h(
      "h1",
      { title: shown(head.program) },
      kind === "diff" && head.before
        ? `${lastName(head.before.program)} → ${lastName(head.program)}`
        : lastName(head.program),
    ),
    head.ended ? el("span.ended", shown(head.ended)) : null,
    h("span", { class: "spacer" }),
    h(
      "div",
      { class: "search", role: "search" },
      h("input", {
        id: "filter",
        type: "search",
        value: state.filter,
        placeholder: "Search or filter   /",
        "aria-label": "Search and filter: words, bytes>1MiB, fn:name",
        "aria-describedby": "filter-says",
        "aria-invalid": mistakes.length > 0 ? "true" : undefined,
        spellcheck: false,
        autocomplete: "off",
        onInput: (event: Event) => change({ filter: (event.currentTarget as HTMLInputElement).value }, true),
      }),
      h(
        "span",
        { id: "filter-says", role: "status", class: mistakes.length > 0 ? "mistake" : "dim" },
        mistakes[0] === undefined
          ? found === undefined
            ? ""
            : `${amount(found, weight!.unit, weight!.clock)} of ${amount(weight!.total, weight!.unit, weight!.clock)}`
          : shown(mistakes[0]),
      ),
    ),
    hasLibraries
      ? h(
          "button",
          {
            type: "button",
            "aria-pressed": !state.folded,
            title: "Library frames: folded into the program's own code that calls them, or shown separately",
            onClick: () => change({ folded: !state.folded }),
          },
          `libraries ${state.folded ? "folded" : "shown"}`,
        )
      : null,
    h(
      "button",
      {
        type: "button",
        title: "Colours: system, light or dark",
        "aria-label": `Colours: ${scheme}`,
        onClick: nextScheme,
      },
      h("span", { "aria-hidden": "true" }, `◐ ${scheme}`),
    ),
    h(
      "button",
      { type: "button", "aria-label": "Help", title: "Help (?)", onClick: () => change({ tab: "help" }) },
      "?",
    ),
  );
}

function lastName(path: string): string {
  return shown(path.slice(path.replace(/\/+$/, "").lastIndexOf("/") + 1));
}

function Keys({ model, state, change }: ViewProps) {
  const isDiff = model.data.kind === "diff";
  const chosen = model.weight(state)?.id;
  const write = ({ value, unit, before, note }: PageKey) => [
    el("span.key-value", amount(value, unit)),
    isDiff && before !== undefined
      ? el("span.key-note", value === before ? "as before" : difference(value - before, unit))
      : null,
    note === undefined ? null : el("span.key-note", shown(note)),
  ];
  return h(
    "ul",
    { class: "keys", "aria-label": "Key figures" },
    model.data.head.keys.map((key) => {
      const { label, word, weight } = key;
      const name = el("span.key-label", h(Word, { word, children: label }));
      return h(
        "li",
        { key: label },
        weight === undefined || !model.data.weights.some(({ id }) => id === weight)
          ? el("span.key", name, write(key))
          : h(
              "button",
              {
                type: "button",
                class: "key",
                "aria-pressed": weight === chosen,
                onClick: () =>
                  change({ weight, ...(state.tab === "findings" ? { tab: "sites", sort: weight } : {}) }),
              },
              name,
              write(key),
            ),
      );
    }),
  );
}

function Tabs({ model, state, change, tabs, tab }: ViewProps & { tabs: readonly Tab[]; tab: Tab }) {
  const list = useRef<HTMLDivElement>(null);
  const { kind, findings } = model.data;
  const figures = model.figures(state);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.indexOf(tab);
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: tabs.length - 1,
    };
    if (!Object.hasOwn(steps, event.key)) return;
    const next = tabs[(steps[event.key] + tabs.length) % tabs.length];
    change({ tab: next });
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
    event.preventDefault();
  };
  return h(
    "nav",
    { class: "bar-of-tabs", "aria-label": "Views" },
    h(
      "div",
      { ref: list, role: "tablist", "aria-label": "Views", onKeyDown },
      tabs.map((name) =>
        h(
          "button",
          {
            key: name,
            type: "button",
            id: `tab-${name}`,
            role: "tab",
            "aria-selected": name === tab,
            "aria-controls": name === tab ? "view" : undefined,
            tabIndex: name === tab ? 0 : -1,
            onClick: () => change({ tab: name }),
          },
          TAB_ENTRIES[name].label,
          name === "findings" && findings.length > 0 ? el("span.count", findings.length) : null,
        ),
      ),
    ),
    h("span", { class: "spacer" }),
    h(RangeChip, { model, state, change }),
    kind === "diff"
      ? el(
          "label",
          "Show ",
          h(
            "select",
            {
              value: state.side,
              onChange: (event: Event) =>
                change({ side: (event.currentTarget as HTMLSelectElement).value as PageState["side"] }),
            },
            h("option", { value: "difference" }, "the difference"),
            h("option", { value: "before" }, "before"),
            h("option", { value: "after" }, "after"),
          ),
        )
      : null,
    figures.length > 1 && hasAmounts(model.data)
      ? el(
          "label",
          "Weight ",
          h(
            "select",
            {
              value: model.weight(state)!.id,
              onChange: (event: Event) => {
                const weight = (event.currentTarget as HTMLSelectElement).value;
                change({ weight, sort: undefined });
              },
            },
            figures.map(({ id, label }) => h("option", { key: id, value: id }, label)),
          ),
        )
      : null,
  );
}

/** The selected range, with a button that clears it. */
function RangeChip({ model, state, change }: ViewProps) {
  const timeline = model.data.timelines.find(({ tool }) => tool === state.range?.tool);
  if (state.range === undefined || timeline === undefined) return null;
  const at = (interval: number) =>
    interval === 0 ? timeline.start : timeline.ends[Math.min(interval, timeline.ends.length) - 1];
  return h(
    "button",
    {
      type: "button",
      class: "chip",
      title: "Back to the whole run (Escape)",
      onClick: () => change({ range: undefined }),
    },
    `${formatCount(at(state.range.from))} – ${formatCount(at(state.range.to))} ${timeline.unit}`,
    h("span", { "aria-hidden": "true" }, " ×"),
    el("span.unseen", ", show the whole run"),
  );
}

function useShortcuts(state: PageState, change: ViewProps["change"], tabs: readonly Tab[]): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const filter = document.querySelector<HTMLInputElement>("#filter")!;
      const isTyping = (event.target as HTMLElement).matches("input, select, textarea");
      if (event.key === "Escape")
        if (event.target === filter)
          if (state.filter === "") filter.blur();
          else change({ filter: "" });
        else if ((state.site ?? state.frame ?? state.finding) !== undefined) change(select({}));
        else if (state.range) change({ range: undefined });
        else return;
      else if (isTyping) return;
      else if (event.key === "/") filter.focus();
      else if (event.key === "?") change({ tab: "help" });
      else if (/^[1-8]$/.test(event.key) && Number(event.key) <= tabs.length)
        change({ tab: tabs[Number(event.key) - 1] });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [state, change, tabs]);
}

/** Call graph with the amounts of the selected weight. */
export function GraphView({ model, state, change }: ViewProps) {
  const weight = model.weight(state);
  if (weight === undefined) return null;
  return [
    // The graph is the first view if there are no findings.
    model.data.kind === "samples" ? h(Hints, { hints: model.data.head.hints }) : null,
    h(Graph, {
      key: "graph",
      data: model.data,
      names: model.names,
      state,
      weight,
      weights: model.figures(state),
      matches: model.matches(state),
      selected: model.selected(state),
      marginOf:
        weight.deviations &&
        ((box: SelectedBox) => margin(model.marginOfBox(weight, box, state), weight.unit)),
      onChange: change,
    }),
  ];
}

// Help: data that is missing, words, and usage of the page.

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["/", "search and filter"],
  ["j k", "next and previous finding, or row"],
  ["Enter", "open a finding, select a row"],
  ["1 … 8", "the tabs, in their order"],
  [
    "arrows",
    "move from box to box in the graph, or from interval to interval in a timeline; with Shift, select a range",
  ],
  ["Escape", "clear the selection, then the range"],
  ["?", "this help"],
];

const FILTERS: readonly (readonly [example: string, what: string])[] = [
  ["shop", "call paths with “shop” in the name of a function or file"],
  ["-printf", "call paths without “printf” in any name"],
  ["bytes>1MiB left>0", "rows of Sites whose sums match; units: B, KiB, MiB, GiB, k, M, G"],
  ["peak>5%", "rows of Sites with more than 5 % of the total"],
  ["fn:~^take_", "sites in functions whose names match a regular expression"],
  ["file:shop.c pkg:sqlite", "sites in files and packages with these names"],
];

/** Returns each caution once, behind the figures that it is about. */
function cautionsOf(weights: PageData["weights"]): string[] {
  const labels = new Map<string, string[]>();
  for (const { label, caution } of weights)
    if (caution !== undefined) labels.set(caution, [...(labels.get(caution) ?? []), label]);
  return [...labels].map(([caution, figures]) =>
    // A list of many figures says no more than the sentence alone.
    figures.length > 3 ? caution : `${figures.join(", ")}: ${caution}`,
  );
}

function Help({ model }: ViewProps) {
  const { head, weights } = model.data;
  return el(
    "div.help",
    h(
      "section",
      { "aria-labelledby": "not-tracked" },
      h("h2", { id: "not-tracked" }, "Not tracked"),
      head.notTracked.length === 0 && weights.every(({ caution }) => caution === undefined)
        ? el("p", "The tools of this run recorded everything that they can record.")
        : h(NotTracked, {
            sentences: [...head.notTracked, ...cautionsOf(weights)],
          }),
      head.merged
        ? el(
            "p",
            `A page keeps ${groupDigits(head.merged.bound)} call paths. The ${counted(head.merged.contexts, "smallest other one")} were ` +
              "merged by site and innermost function; their sums are exact. Their callers are shown as one “others, merged” below each " +
              "kept caller: the graph and searches for callers do not distinguish them. Lines in Source include their sums with calls.",
          )
        : null,
      head.hints.map((hint) => el("p.hint", shown(hint))),
    ),
    h(
      "section",
      { "aria-labelledby": "this-run" },
      h("h2", { id: "this-run" }, "This run"),
      el(
        "dl.facts",
        head.command ? [el("dt", "Command"), el("dd", el("code", shown(head.command)))] : null,
        head.ended ? [el("dt", "Ended"), el("dd", shown(head.ended))] : null,
        head.facts.map(({ label, value }) => [el("dt", shown(label)), el("dd", shown(value))]),
        el("dt", "Page"),
        el("dd", `written by memshade ${shown(head.writtenBy)}`),
      ),
    ),
    h(
      "section",
      { "aria-labelledby": "keys" },
      h("h2", { id: "keys" }, "Keys"),
      el(
        "dl.facts",
        KEYS.map(([keys, meaning]) => [el("dt", el("kbd", keys)), el("dd", meaning)]),
      ),
    ),
    h(
      "section",
      { "aria-labelledby": "filters" },
      h("h2", { id: "filters" }, "Filters"),
      el(
        "dl.facts",
        FILTERS.map(([example, meaning]) => [el("dt", el("code", example)), el("dd", meaning)]),
      ),
      el("p.dim", `Figures: ${weights.map(({ id }) => id).join(", ")}.`),
    ),
    h(
      "section",
      { "aria-labelledby": "words" },
      h("h2", { id: "words" }, "Words"),
      el(
        "dl.words",
        GLOSSARY.map(({ word, text, advice }) => [
          el("dt", word),
          el("dd", text, advice ? el("span.advice", ` ${advice}`) : null),
        ]),
      ),
    ),
  );
}
