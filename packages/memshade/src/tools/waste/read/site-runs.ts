import type { SiteRuns } from "../../index.ts";
import type { WasteContents } from "./read-waste.ts";

/** How often each load and store of a module ran. */
export interface ModuleRuns {
  original: Uint8Array;
  runs: SiteRuns;
}

/** What is known of earlier runs counts so much less with every run, so that a program that changed its ways is followed. */
const FADES = 0.5;
/** What ran less than this, of the runs of a module that are kept, is forgotten. */
const LEAST = 1;

const FORMAT = "memshade site runs 1";

/** How often the loads and stores of a module ran, in all contexts of all instances. */
export function siteRunsOf(contents: readonly WasteContents[]): SiteRuns {
  const sums = new Map<number, [runs: number, events: number]>();
  const add = (path: readonly number[], runs: number, events: number) => {
    const offset = path[0];
    if (offset === undefined || runs === 0) return;
    const sum = sums.get(offset);
    if (sum === undefined) sums.set(offset, [runs, events]);
    else {
      sum[0] += runs;
      sum[1] += events;
    }
  };
  for (const { stores, loads } of contents) {
    for (const store of stores) add(store.path, store.stores, store.silent);
    for (const load of loads) add(load.path, load.loads, load.loads - load.silent);
  }
  return sorted(sums);
}

function sorted(sums: ReadonlyMap<number, readonly [runs: number, events: number]>): SiteRuns {
  const all = [...sums].sort(([a], [b]) => a - b);
  return {
    offsets: all.map(([offset]) => offset),
    runs: all.map(([, [runs]]) => runs),
    events: all.map(([, [, events]]) => events),
  };
}

/** The runs of now and, for less, those of before. */
export function addedRuns(now: SiteRuns, before: SiteRuns | undefined): SiteRuns {
  const sums = new Map<number, [runs: number, events: number]>();
  now.offsets.forEach((offset, i) => {
    sums.set(offset, [now.runs[i], now.events[i]]);
  });
  before?.offsets.forEach((offset, i) => {
    const [runs, events] = sums.get(offset) ?? [0, 0];
    const sum = Math.round(runs + before.runs[i] * FADES);
    if (sum >= LEAST) sums.set(offset, [sum, Math.round(events + before.events[i] * FADES)]);
  });
  return sorted(sums);
}

/** As a file: a line that names the format, then per site the distance from the last one, runs and events. */
export function siteRunsText({ offsets, runs, events }: SiteRuns): string {
  const lines = offsets.map((offset, i) => `${offset - (offsets[i - 1] ?? 0)} ${runs[i]} ${events[i]}`);
  return `${[FORMAT, ...lines].join("\n")}\n`;
}

/** What such a file says; undefined if it is none, or damaged. */
export function readSiteRuns(text: string): SiteRuns | undefined {
  const [format, ...lines] = text.split("\n");
  if (format !== FORMAT || lines.pop() !== "") return undefined;
  const found = { offsets: [] as number[], runs: [] as number[], events: [] as number[] };
  let offset = 0;
  for (const line of lines) {
    const [, distance, runs, events] = /^(\d{1,15}) (\d{1,15}) (\d{1,15})$/.exec(line) ?? [];
    if (distance === undefined) return undefined;
    offset += Number(distance);
    found.offsets.push(offset);
    found.runs.push(Number(runs));
    found.events.push(Number(events));
  }
  return found;
}
