import { h, type TargetedEvent, type TargetedKeyboardEvent, type TargetedPointerEvent } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { withoutSignature } from "../../../../explain/analyses/frames/function-names.ts";
import { frameKeys } from "../app/model/grouping.ts";
import type { FrameNames } from "../app/model/names.ts";
import { amount, amountInWords, difference, formatCount } from "../app/parts/amounts.ts";
import { el, tableHead } from "../app/parts/element.ts";
import { shown } from "../app/parts/shown-text.ts";
import type { PageState } from "../app/state.ts";
import type { PageData, PageDeltas, PageLane, PageTimeline, PageTool } from "../data/page-data.ts";
import { mix, type Palette, toText } from "../graph/paint/palette.ts";
import { usePalette } from "../graph/paint/use-palette.ts";
import { useSize } from "../graph/paint/use-size.ts";
import {
  beginOf,
  chunks,
  drawPlots,
  type Intervals,
  intervalAt,
  type Plot,
  partAt,
  plotsOf,
  sumLane,
  topsOf,
} from "./draw-plots.ts";

export interface TimelineProps {
  data: PageData;
  names: FrameNames;
  timeline: PageTimeline;
  selected?: Uint8Array | undefined;
  range?: Intervals | undefined;
  /** @param range undefined for the whole run */
  onRange(range: Intervals | undefined): void;
}

/** Number of sites with a colour of their own. */
const SITES = 4;

/** Lanes of one clock below each other, with phases, the range, and its figures. */
function Timeline({ data, names, timeline, selected, range, onRange }: TimelineProps) {
  const element = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = usePalette(element);
  const { width } = useSize(area);
  const plots = useMemo(() => plotsOf(timeline), [timeline]);
  const sites = useMemo(() => largestSites(data, names, timeline), [data, names, timeline]);
  const ofSelected = useMemo(
    () =>
      selected &&
      partsOf(
        timeline,
        Int32Array.from(selected, (is) => is - 1),
        1,
      )[0],
    [timeline, selected],
  );
  // Dragged range, and position of the keyboard cursor.
  const [drag, setDrag] = useState<{ from: number; to: number } | undefined>(undefined);
  const [cursor, setCursor] = useState<number | undefined>(undefined);
  const isSplit = plots[0]?.area.id === splitLane(timeline);
  const tops = topsOf(plots);
  const height = tops[tops.length - 1];

  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || palette === undefined || width === 0) return;
    const ratio = devicePixelRatio;
    context.canvas.width = Math.round(width * ratio);
    context.canvas.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    const layers = isSplit
      ? sites.parts.map((values, index) => ({ values, colour: palette.series[index] }))
      : [];
    drawPlots(
      context,
      { timeline, plots, layers, palette, selected: isSplit ? ofSelected : undefined },
      width,
    );
  }, [timeline, plots, sites, ofSelected, palette, width, height]);

  const at = (event: TargetedPointerEvent<HTMLDivElement>): number => {
    const { left, width: whole } = event.currentTarget.getBoundingClientRect();
    return intervalAt(timeline, Math.min(1, Math.max(0, (event.clientX - left) / whole)));
  };
  const chosen =
    drag === undefined ? range : { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) + 1 };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (event.key === "Escape" && range !== undefined) onRange(undefined);
    else {
      const next = stepRange(event.key, event.shiftKey, { cursor, range, intervals: timeline.ends.length });
      if (next === undefined) return;
      setCursor(next.cursor);
      if (next.range !== range) onRange(next.range);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const says =
    chosen !== undefined
      ? rangeInWords(timeline, chosen, plots)
      : cursor !== undefined
        ? momentInWords(timeline, cursor, plots)
        : `${rangeInWords(timeline, { from: 0, to: timeline.ends.length }, plots)}${timeline.of === undefined ? "" : `; ${shown(timeline.of)}`}`;
  return h(
    "div",
    { class: "timeline", ref: element },
    h(
      "div",
      { class: "timeline-labels", style: { height: `${height}px` } },
      plots.map(({ area: lane, line }, index) =>
        h(
          "div",
          { key: lane.id, style: { top: `${tops[index]}px` } },
          el("strong", lane.label),
          lane.shape === "amount"
            ? null
            : el(
                "div",
                `to ${amountInWords(
                  Math.max(...[lane, ...(line === undefined ? [] : [line])].map(highestOf)),
                  lane.unit,
                )}`,
              ),
        ),
      ),
    ),
    h(
      "div",
      {
        ref: area,
        class: "timeline-area",
        tabIndex: 0,
        role: "application",
        "aria-roledescription": "timeline",
        "aria-label": `${plots.map(({ area: lane }) => lane.label).join(", ")} over ${timeline.unit}. Arrows move through the intervals, with Shift they select a range, Escape clears it.`,
        onKeyDown,
        onBlur: () => setCursor(undefined),
        onPointerDown: (event: TargetedPointerEvent<HTMLDivElement>) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag({ from: at(event), to: at(event) });
        },
        onPointerMove: (event: TargetedPointerEvent<HTMLDivElement>) => {
          if (drag !== undefined) setDrag({ ...drag, to: at(event) });
          else setCursor(at(event));
        },
        onPointerLeave: () => drag === undefined && setCursor(undefined),
        onPointerUp: () => {
          // A click selects nothing: it may be the first of a double click.
          if (drag !== undefined && drag.from !== drag.to) onRange(chosen);
          setDrag(undefined);
        },
        onPointerCancel: () => setDrag(undefined),
        onDblClick: () => onRange(undefined),
      },
      h("canvas", {
        ref: canvas,
        style: { width: `${width}px`, height: `${height}px` },
        "aria-hidden": "true",
      }),
      chosen !== undefined && h("div", { class: "timeline-range", style: across(timeline, chosen) }),
      cursor !== undefined &&
        h("div", {
          class: "timeline-cursor",
          style: { left: percent((partAt(timeline, cursor) + partAt(timeline, cursor + 1)) / 2) },
        }),
    ),
    timeline.phases.length > 0 && h(Phases, { timeline, range, onRange }),
    el(
      "div.timeline-says",
      h("output", { "aria-live": "polite", title: says }, says),
      el(
        "div.timeline-more",
        isSplit && palette !== undefined && h(Sites, { sites: sites.frames, names, palette }),
        h(TimeTable, { timeline }),
      ),
    ),
  );
}

/** Returns the largest sites, and the amounts of each per interval. */
function largestSites(
  data: PageData,
  names: FrameNames,
  timeline: PageTimeline,
): { frames: number[]; parts: Float64Array[] } {
  const { contexts } = data;
  // Several calls in one line are one site, as in the Sites view: the first of their frames represents all.
  const keyOf = frameKeys(data, names, "site");
  const first = new Map<string | number, number>();
  const siteOf = contexts.site.map((site) => {
    if (site < 0) return -1;
    const frame = contexts.frame[site];
    const key = keyOf(frame);
    const existing = first.get(key);
    if (existing === undefined) first.set(key, frame);
    return existing ?? frame;
  });
  const frames = largestGroups(
    timeline,
    siteOf,
    siteOf.reduce((most, frame) => Math.max(most, frame), -1) + 1,
    SITES,
  );
  const rank = new Map(frames.map((frame, index) => [frame, index]));
  return {
    frames,
    parts: partsOf(
      timeline,
      siteOf.map((frame) => rank.get(frame) ?? -1),
      frames.length,
    ),
  };
}

function Sites({ sites, names, palette }: { sites: readonly number[]; names: FrameNames; palette: Palette }) {
  // If space is short, the line identifies the site better than its function.
  const entry = (key: number, label: string, place: string, colour: string, hasLine = false) =>
    h(
      "li",
      { key, title: `${label} ${place}` },
      h("i", { style: { background: colour } }),
      h("span", { class: hasLine ? "function" : undefined }, label),
      place === "" ? null : el("span.place", place),
    );
  return h(
    "ul",
    { class: "timeline-sites", "aria-label": "Sites" },
    sites.map((frame, index) =>
      entry(
        frame,
        shown(withoutSignature(names.function(frame))),
        shown(names.place(frame)),
        toText(palette.series[index]),
        names.line(frame) > 0,
      ),
    ),
    entry(-1, "other", "", toText(mix(palette.panel, palette.dim, 0.45))),
  );
}

/** Phases as buttons that select their range. */
function Phases({ timeline, range, onRange }: Pick<TimelineProps, "timeline" | "range" | "onRange">) {
  return h(
    "div",
    { class: "timeline-phases", role: "group", "aria-label": "Phases" },
    timeline.phases.map(({ name, from, to }) => {
      const isChosen = range?.from === from && range.to === to;
      return h(
        "button",
        {
          key: from,
          type: "button",
          title: shown(name),
          "aria-pressed": isChosen,
          style: across(timeline, { from, to }),
          onClick: () => onRange(isChosen ? undefined : { from, to }),
        },
        h("span", { style: { "--letters": `${[...shown(name)].length}` } }, shown(name)),
      );
    }),
  );
}

function highestOf({ values }: PageLane): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function across(timeline: PageTimeline, { from, to }: Intervals): Record<string, string> {
  const left = partAt(timeline, from);
  return { left: percent(left), width: percent(partAt(timeline, to) - left) };
}

function percent(part: number): string {
  return `${100 * part}%`;
}

/** Formats the lanes over a range: `1,000 – 2,000 allocations: live heap 12 MiB at its end, +3 MiB; …`. */
export function rangeInWords(timeline: PageTimeline, range: Intervals, plots: readonly Plot[]): string {
  const [begin, end] = [beginOf(timeline, range.from), beginOf(timeline, range.to)];
  const lanes = plots.flatMap(({ area, line }) => (line === undefined ? [area] : [area, line]));
  return `${clock(timeline, begin)} – ${clock(timeline, end)}${unitOf(timeline)}: ${lanes.map((lane) => laneInWords(lane, range)).join(", ")}`;
}

export function momentInWords(timeline: PageTimeline, interval: number, plots: readonly Plot[]): string {
  return rangeInWords(timeline, { from: interval, to: interval + 1 }, plots);
}

function laneInWords(lane: PageLane, range: Intervals): string {
  const { value, kind } = sumLane(lane, range);
  const words = amountInWords(value, lane.unit);
  if (kind === "sum") return `${lane.label} ${words}`;
  if (kind === "most") return lane.shape === "most" ? `at most ${words}` : `${lane.label} at most ${words}`;
  const before = range.from > 0 ? lane.values[range.from - 1] : undefined;
  const change = before === undefined ? "" : ` (${difference(value - before, lane.unit)})`;
  return `${lane.label} ${words} at the end${change}`;
}

/** Amounts in nanoseconds include their unit. */
function unitOf({ unit }: PageTimeline): string {
  return unit === "ns" ? "" : ` ${unit}`;
}

function clock({ unit }: PageTimeline, value: number): string {
  return unit === "ns" ? amount(value, "ns") : formatCount(value);
}

export interface RangePlace {
  /** Interval of the keyboard cursor; undefined before the first key. */
  cursor?: number | undefined;
  range?: Intervals | undefined;
}

/**
 * Returns the state after a key. The cursor moves through the intervals; with Shift the range grows or
 * shrinks with it. Undefined for other keys.
 *
 * @param intervals number of intervals
 */
export function stepRange(
  key: string,
  isRange: boolean,
  { cursor, range, intervals }: RangePlace & { intervals: number },
): { cursor: number; range: Intervals | undefined } | undefined {
  const from = cursor ?? 0;
  const far = Math.max(1, Math.round(intervals / 10));
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: from - 1,
    ArrowRight: from + 1,
    PageUp: from - far,
    PageDown: from + far,
    Home: 0,
    End: intervals - 1,
  };
  if (!Object.hasOwn(targets, key)) return undefined;
  const to = cursor === undefined && !isRange ? from : Math.min(intervals - 1, Math.max(0, targets[key]));
  if (!isRange) return { cursor: to, range };
  // The end of the range opposite to the cursor stays fixed.
  const anchor =
    range === undefined || from < range.from || from >= range.to
      ? from
      : from === range.from
        ? range.to - 1
        : range.from;
  return { cursor: to, range: { from: Math.min(anchor, to), to: Math.max(anchor, to) + 1 } };
}

/** Rows of a timeline that make up the split lane: added and taken amounts. */
interface Flow {
  added: Float64Array;
  taken: Float64Array | undefined;
  /** True if amounts added in an interval remain for the following ones. */
  stays: boolean;
}

/** Split lane of each tool, with the weights of added and taken amounts. */
const SPLIT: Readonly<Partial<Record<PageTool, readonly [lane: string, added: string, taken?: string]>>> = {
  heap: ["live", "bytes", "freed"],
};
const LINES = ["lines", "owned"] as const;

function flowOf({ tool, deltas }: PageTimeline): Flow | undefined {
  const column = (id?: string) => deltas?.columns.find(({ weight }) => weight === id)?.values;
  const [, plus, minus] = SPLIT[tool] ?? LINES;
  const added = column(plus);
  return added && { added, taken: column(minus), stays: minus !== undefined };
}

/** Returns the lane that can be split by contexts; undefined if this was not recorded. */
export function splitLane(timeline: PageTimeline): string | undefined {
  return flowOf(timeline) && (SPLIT[timeline.tool] ?? LINES)[0];
}

/**
 * Returns the amounts of groups of contexts per interval, in the unit of the split lane.
 *
 * @param groupOf group of each context, −1 for none
 */
export function partsOf(timeline: PageTimeline, groupOf: Int32Array, groups: number): Float64Array[] {
  const { ends, deltas } = timeline;
  const parts = Array.from({ length: groups }, () => new Float64Array(ends.length));
  const flow = flowOf(timeline);
  if (flow === undefined || deltas === undefined) return parts;
  forEachRow(deltas, (interval, context, row) => {
    const group = groupOf[context];
    if (group >= 0) parts[group][interval] += flow.added[row] - (flow.taken?.[row] ?? 0);
  });
  if (!flow.stays) return parts;
  deltas.begin?.context.forEach((context, row) => {
    const group = groupOf[context];
    if (group >= 0) parts[group][0] += deltas.begin!.bytes[row];
  });
  for (const part of parts)
    for (let interval = 1; interval < part.length; interval++) part[interval] += part[interval - 1];
  return parts;
}

/**
 * Returns the groups with the largest part of the split lane over all intervals, largest first. Empty groups
 * are left out.
 */
export function largestGroups(
  timeline: PageTimeline,
  groupOf: Int32Array,
  groups: number,
  most: number,
): number[] {
  const { ends, start, deltas } = timeline;
  const flow = flowOf(timeline);
  if (flow === undefined || deltas === undefined) return [];
  const area = new Float64Array(groups);
  const end = ends[ends.length - 1];
  const beginOf = (interval: number) => (interval === 0 ? start : ends[interval - 1]);
  forEachRow(deltas, (interval, context, row) => {
    const group = groupOf[context];
    const time = flow.stays ? end - beginOf(interval) : 1;
    if (group >= 0) area[group] += (flow.added[row] - (flow.taken?.[row] ?? 0)) * time;
  });
  deltas.begin?.context.forEach((context, row) => {
    const group = groupOf[context];
    if (group >= 0 && flow.stays) area[group] += deltas.begin!.bytes[row] * (end - start);
  });
  return [...area.keys()]
    .filter((group) => area[group] > 0)
    .sort((a, b) => area[b] - area[a] || a - b)
    .slice(0, most);
}

function forEachRow(
  { offset, context }: PageDeltas,
  visit: (interval: number, context: number, row: number) => void,
): void {
  for (let interval = 0; interval + 1 < offset.length; interval++)
    for (let row = offset[interval]; row < offset[interval + 1]; row++) visit(interval, context[row], row);
}

/** Most rows of the table; with more intervals, a row combines several. */
const MOST_ROWS = 500;

export function TimeTable({ timeline }: { timeline: PageTimeline }) {
  const [isOpen, setIsOpen] = useState(false);
  return h(
    "details",
    {
      class: "timeline-table",
      onToggle: (event: TargetedEvent<HTMLDetailsElement>) => setIsOpen(event.currentTarget.open),
    },
    el("summary", "as a table"),
    isOpen && h(Rows, { timeline }),
  );
}

function Rows({ timeline }: { timeline: PageTimeline }) {
  const { lanes, phases, unit } = timeline;
  const phaseAt = (interval: number) =>
    phases.find(({ from, to }) => from <= interval && interval < to)?.name;
  return el(
    "table",
    tableHead([`to ${unit}`, ...(phases.length > 0 ? ["phase"] : []), ...lanes.map(({ label }) => label)]),
    el(
      "tbody",
      chunks(timeline.ends.length, MOST_ROWS).map((part) =>
        h(
          "tr",
          { key: part.from },
          h("th", { scope: "row" }, formatCount(beginOf(timeline, part.to))),
          phases.length > 0 && el("td", shown(phaseAt(part.from) ?? "")),
          lanes.map((lane) => h("td", { key: lane.id }, amount(sumLane(lane, part).value, lane.unit))),
        ),
      ),
    ),
  );
}

interface TimeStripProps {
  readonly data: PageData;
  readonly names: FrameNames;
  readonly state: Pick<PageState, "range">;
  /** 1 for each selected context; absent without a selection. */
  readonly selected?: Uint8Array | undefined;
  onChange(part: Pick<Partial<PageState>, "range">): void;
}

/** Timelines by the clock of each tool. A range selected here applies to all views. */
export function TimeStrip({ data, names, state, selected, onChange }: TimeStripProps) {
  // A run that ended before its clock advanced has no time axis.
  const timelines = data.timelines.filter(
    ({ start, ends }) => ends.length > 0 && ends[ends.length - 1] > start,
  );
  if (timelines.length === 0) return null;
  return h(
    "section",
    { class: "time", "aria-label": "Time" },
    timelines.map((timeline) =>
      h(Timeline, {
        key: timeline.tool,
        data,
        names,
        timeline,
        selected,
        range: state.range?.tool === timeline.tool ? state.range : undefined,
        onRange: (range) => onChange({ range: range && { ...range, tool: timeline.tool } }),
      }),
    ),
  );
}
