import { useCallback, useEffect, useState } from "preact/hooks";
import type { PageTool } from "../data/page-data.ts";
import { BOX_ENDS, type BoxPath } from "../graph/layout/contexts-of-box.ts";
import { BOX_GROUPS, type BoxGroup, type GraphView } from "../graph/view.ts";

// The one state of the page. It lives in the address's hash, so that a place in a report can be sent and `back` works.

/** The views, in the order of their tabs. */
export const TABS = ["findings", "graph", "sites", "source", "blocks", "cache", "diff", "help"] as const;
export type Tab = (typeof TABS)[number];

/** What a row of Sites is. */
export const GROUPS = ["path", "site", "line", "function", "file", "package"] as const;
export type Group = (typeof GROUPS)[number];

/** Intervals `[from, to)` of one tool's timeline. */
export interface PageRange {
  readonly tool: PageTool;
  readonly from: number;
  readonly to: number;
}

/** A box, and what boxes are. */
export interface SelectedBox extends BoxPath {
  readonly by: BoxGroup;
}

export interface PageState {
  readonly tab: Tab;
  /** Absent: the whole run. */
  readonly range?: PageRange | undefined;
  /** A context: it and all below it are selected. */
  readonly site?: number | undefined;
  /** A frame: every context of the same `frameOf` is selected. `site` is absent then. */
  readonly frame?: number | undefined;
  /** What of `frame` counts: contexts whose site it is, or all whose own site is in the same line, function, file, package. */
  readonly frameOf: Exclude<Group, "path">;
  /** A box of the graph, which `site` or `frame` is in: all that it stands for is selected. */
  readonly box?: SelectedBox | undefined;
  /** Of `site`, only what was counted there itself. */
  readonly alone?: boolean | undefined;
  /** A finding: all of its contexts are selected, unless `site` or `frame` says otherwise. */
  readonly finding?: number | undefined;
  /** Findings that are open; absent: the first one. */
  readonly open?: readonly number[] | undefined;
  /** Id of the weight that Graph, bars and shares are of; absent: the first one. */
  readonly weight?: string | undefined;
  readonly group: Group;
  /** Sites are in the order of this weight's id or of "name"; absent: of `weight`. */
  readonly sort?: string | undefined;
  readonly ascending: boolean;
  /** In the filter language. */
  readonly filter: string;
  /** Kinds of findings that are hidden. */
  readonly hidden: readonly string[];
  /** Whether frames of libraries are folded into the program's own code. */
  readonly folded: boolean;
  /** Whether Source shows instructions beside lines. */
  readonly instructions: boolean;
  /** What a diff shows. */
  readonly side: "difference" | "before" | "after";
  /** How the graph is looked at. */
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

/** The state as the address has it, without `#`; what is as at first is left out. */
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

/** The state of an address, with or without `#`. What it cannot be is as at first. */
export function readState(hash: string): PageState {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const one = <Value extends string>(key: string, values: readonly Value[], first: Value): Value =>
    values.find((value) => value === fields.get(key)) ?? first;
  const open = fields.get("open");
  return {
    tab: one("tab", TABS, FIRST_STATE.tab),
    range: readRange(fields.get("range") ?? ""),
    site: readIndex(fields.get("site")),
    frame: readIndex(fields.get("frame")),
    frameOf: one("frameOf", ["site", "line", "function", "file", "package"], FIRST_STATE.frameOf),
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
    group: one("group", GROUPS, FIRST_STATE.group),
    sort: fields.get("sort") ?? undefined,
    ascending: fields.get("ascending") === "1",
    filter: fields.get("filter") ?? "",
    hidden: fields.get("hidden")?.split(".") ?? [],
    folded: fields.get("folded") !== "0",
    instructions: fields.get("instructions") === "1",
    side: one("side", ["difference", "before", "after"], FIRST_STATE.side),
    graph: readGraph(fields.get("graph")),
  };
}

/** Its members are as somebody wrote them: the graph takes those that it can. */
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
  const from = BOX_ENDS.find((known) => known === end);
  const by = BOX_GROUPS.find((known) => known === group);
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

/** Changes some of the state. A change that is typed letter by letter takes the place of the one before in the history. */
export type Change = (part: Partial<PageState>, isTyped?: boolean) => void;

/** The state in the address, and how to change it; it follows `back` and `forward`. */
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
