import { useCallback, useEffect, useState } from "preact/hooks";
import type { PageTool } from "../data/page-data.ts";
import { BOX_ENDS, type BoxPath } from "../graph/layout/contexts-of-box.ts";
import { BOX_GROUPS, type BoxGroup, type GraphView } from "../graph/view.ts";

// State of the page, stored in the address's hash, so that a view can be shared as a link and `back` works.

/** Views in the order of their tabs. */
export const TABS = ["findings", "graph", "sites", "source", "blocks", "cache", "diff", "help"] as const;
export type Tab = (typeof TABS)[number];

/** Groupings of the Sites view. */
export const GROUPS = ["path", "site", "line", "function", "file", "package"] as const;
export type Group = (typeof GROUPS)[number];

/** Intervals `[from, to)` of one tool's timeline. */
export interface PageRange {
  readonly tool: PageTool;
  readonly from: number;
  readonly to: number;
}

/** A box with its grouping. */
export interface SelectedBox extends BoxPath {
  readonly by: BoxGroup;
}

export interface PageState {
  readonly tab: Tab;
  /** Absent for the whole run. */
  readonly range?: PageRange | undefined;
  /** A context: it and everything below it are selected. */
  readonly site?: number | undefined;
  /** A frame: every context of the same `frameOf` is selected; `site` is absent. */
  readonly frame?: number | undefined;
  /**
   * Grouping of `frame`: contexts with this site, or all whose own site is in the same line, function, file
   * or package.
   */
  readonly frameOf: Exclude<Group, "path">;
  /** A box of the graph that contains `site` or `frame`: all its contexts are selected. */
  readonly box?: SelectedBox | undefined;
  /** True to select only the own amount of `site`. */
  readonly alone?: boolean | undefined;
  /** A finding: all its contexts are selected, unless `site` or `frame` selects a part. */
  readonly finding?: number | undefined;
  /** Open findings; absent for the first one. */
  readonly open?: readonly number[] | undefined;
  /** Id of the weight for Graph, bars and shares; absent for the first one. */
  readonly weight?: string | undefined;
  readonly group: Group;
  /** Id of the weight, or "#name", that sorts Sites; absent for `weight`. */
  readonly sort?: string | undefined;
  readonly ascending: boolean;
  /** Text in the filter language. */
  readonly filter: string;
  /** Hidden kinds of findings. */
  readonly hidden: readonly string[];
  /** True if library frames are folded into the program's own code. */
  readonly folded: boolean;
  /** True if Source shows instructions beside lines. */
  readonly instructions: boolean;
  /** Displayed values of a diff. */
  readonly side: "difference" | "before" | "after";
  /** View of the graph. */
  readonly graph?: GraphView | undefined;
}

export const FIRST_STATE: PageState = {
  tab: "findings",
  frameOf: "site",
  group: "site",
  ascending: false,
  filter: "",
  hidden: [],
  folded: true,
  instructions: false,
  side: "difference",
};

/** Formats the state for the address, without `#`. Default values are left out. */
export function writeState(state: PageState): string {
  const fields = new URLSearchParams();
  const put = (key: keyof PageState, text: string | undefined) => {
    if (text !== undefined && state[key] !== FIRST_STATE[key]) fields.set(key, text);
  };
  put("tab", state.tab);
  put("range", state.range && `${state.range.tool}-${state.range.from}-${state.range.to}`);
  put("site", state.site?.toString());
  put("frame", state.frame?.toString());
  put("frameOf", state.frameOf);
  put("box", state.box && [state.box.from, state.box.by, ...state.box.path].join("."));
  if (state.alone === true) fields.set("alone", "1");
  put("finding", state.finding?.toString());
  put("open", state.open?.join("."));
  put("weight", state.weight);
  put("group", state.group);
  put("sort", state.sort);
  put("ascending", "1");
  put("filter", state.filter);
  if (state.hidden.length > 0) put("hidden", state.hidden.join("."));
  put("folded", "0");
  put("instructions", "1");
  put("side", state.side);
  put("graph", state.graph && JSON.stringify(state.graph));
  return fields.toString();
}

/** Parses the state of an address, with or without `#`. Invalid members get their defaults. */
export function readState(hash: string): PageState {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const oneOf = <Value extends string>(key: string, values: readonly Value[], first: Value): Value =>
    values.find((value) => value === fields.get(key)) ?? first;
  const open = fields.get("open");
  return {
    tab: oneOf("tab", TABS, FIRST_STATE.tab),
    range: readRange(fields.get("range") ?? ""),
    site: readIndex(fields.get("site")),
    frame: readIndex(fields.get("frame")),
    frameOf: oneOf("frameOf", ["site", "line", "function", "file", "package"], FIRST_STATE.frameOf),
    box: readBox(fields.get("box") ?? ""),
    alone: fields.get("alone") === "1" ? true : undefined,
    finding: readIndex(fields.get("finding")),
    open:
      open === null
        ? undefined
        : open
            .split(".")
            .map(readIndex)
            .filter((index) => index !== undefined),
    weight: fields.get("weight") ?? undefined,
    group: oneOf("group", GROUPS, FIRST_STATE.group),
    sort: fields.get("sort") ?? undefined,
    ascending: fields.get("ascending") === "1",
    filter: fields.get("filter") ?? "",
    hidden: fields.get("hidden")?.split(".") ?? [],
    folded: fields.get("folded") !== "0",
    instructions: fields.get("instructions") === "1",
    side: oneOf("side", ["difference", "before", "after"], FIRST_STATE.side),
    graph: readGraph(fields.get("graph")),
  };
}

/** Members are untrusted: `checkedView` validates them. */
function readGraph(text: string | null): GraphView | undefined {
  try {
    const graph: unknown = JSON.parse(text ?? "null");
    return typeof graph === "object" && graph !== null ? (graph as GraphView) : undefined;
  } catch {
    return undefined;
  }
}

function readBox(text: string): SelectedBox | undefined {
  const [end, group, ...frames] = text.split(".");
  const from = BOX_ENDS.find((candidate) => candidate === end);
  const by = BOX_GROUPS.find((candidate) => candidate === group);
  const path = frames.map(readIndex);
  return from !== undefined &&
    by !== undefined &&
    path.length > 0 &&
    path.every((frame) => frame !== undefined)
    ? { from, by, path }
    : undefined;
}

function readRange(text: string): PageRange | undefined {
  const parts = /^(heap|waste|workingset|samples)-(\d{1,9})-(\d{1,9})$/.exec(text);
  if (!parts) return undefined;
  const [from, to] = [Number(parts[2]), Number(parts[3])];
  return from < to ? { tool: parts[1] as PageTool, from, to } : undefined;
}

function readIndex(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Changes part of the state. Changes typed letter by letter replace the previous history entry. */
export type Change = (part: Partial<PageState>, isTyped?: boolean) => void;

/**
 * Returns the state in the address and a function that changes it. The state follows `back` and `forward`.
 */
export function useAddress(): [PageState, Change] {
  const [state, setState] = useState(() => readState(location.hash));
  useEffect(() => {
    const follow = () => setState(readState(location.hash));
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener("hashchange", follow);
    };
  }, []);
  const change = useCallback<Change>((part, isTyped = false) => {
    const next = { ...readState(location.hash), ...part };
    const hash = `#${writeState(next)}`;
    if (hash === (location.hash || "#")) return;
    history[isTyped ? "replaceState" : "pushState"](null, "", hash);
    setState(next);
  }, []);
  return [state, change];
}
