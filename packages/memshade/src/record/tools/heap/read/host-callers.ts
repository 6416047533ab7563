import { contentId } from "../../../../code/wasm/index.ts";
import { entryOf } from "../../../../ground/bytes/entries.ts";
import type { RawSegment } from "../../../../profile/model/raw-profile.ts";
import type { RunHost, RunHostFrame } from "../../../../profile/model/run.ts";
import { HostSite } from "../../../contexts/layout.ts";
import { STACKS_OF_INSTANCE } from "../../host-interface.ts";
import type { HeapSeries } from "./block-entry.ts";
import { ContextTable, PathMap } from "./context-table.ts";
import type { ShadowContents } from "./read-shadow.ts";

export interface HostFrame extends RunHostFrame {
  /** Start of its function in the script, if the engine gives it. */
  start?: { line: number; column: number } | undefined;
}

export type DescribeHostFrame = (frame: HostFrame) => RunHostFrame;

/** Returns the frame as the engine gave it, for runs without the scripts' sources. */
export function withoutStart({ start: _, ...frame }: HostFrame): RunHostFrame {
  return frame;
}

/** New stacks of the host from one thread: see `HostStackNews`. */
export interface ToldStacks {
  frames: readonly HostFrame[];
  stacks: readonly number[];
}

/**
 * Maps the number of an instance that shares its tables to the thread whose stacks its host sites refer to.
 */
export type ThreadOf = (local: number) => number | undefined;

const LEFT_OUT: HostFrame = { name: "[callers not asked]", is: "left-out" };
const BEYOND: HostFrame = { name: "[stacks beyond the bound]", is: "unknown" };

export function isHostSite(site: number): boolean {
  return site >= HostSite.unsettled;
}

/**
 * Stacks that have entered modules in a run, of all threads. Equal stacks have one number, whichever thread
 * recorded them.
 */
export class HostCallers {
  readonly #frames: HostFrame[] = [];
  readonly #frameOfText = new Map<string, number>();
  /** Two numbers per stack: the calling stack and the innermost frame. The first stack is empty. */
  readonly #stacks: number[] = [0, 0];
  readonly #stackOf = new Map<string, number>();
  readonly #threads = new Map<number, { frames: number[]; stacks: number[] }>();

  learn(thread: number, { frames, stacks }: ToldStacks): void {
    const ofThread = entryOf(this.#threads, thread, () => ({ frames: [], stacks: [0] }));
    for (const frame of frames) ofThread.frames.push(this.#frame(frame));
    for (let i = 0; i < stacks.length; i += 2)
      ofThread.stacks.push(this.#stack(ofThread.stacks[stacks[i]], ofThread.frames[stacks[i + 1]]));
  }

  /**
   * Returns the call sites of a context with numbers that are valid for all threads, innermost first. Entries
   * without a known caller are left out, and only the innermost entry has its stage.
   */
  sitesOf(sites: readonly number[], threadOf: ThreadOf): number[] {
    let isInnermost = true;
    return sites.flatMap((site) => {
      if (!isHostSite(site)) return site;
      const number = this.#numberOf(site & HostSite.numberMask, threadOf);
      if (number === HostSite.unknown) return [];
      const stage = isInnermost ? stageOf(site) : 0;
      isInnermost = false;
      return HostSite.unsettled + stage * 2 ** HostSite.stageShift + number;
    });
  }

  inAllThreads(contents: ShadowContents, threadOf: ThreadOf): ShadowContents {
    const { contexts, series } = contents;
    const hasHost = ({ sites }: { sites: readonly number[] }): boolean => sites.some(isHostSite);
    if (!contexts.some(hasHost) && series?.changes.values().some(hasHost) !== true) return contents;
    const table = new ContextTable();
    for (const context of contexts)
      table.add(0, { ...context, sites: this.sitesOf(context.sites, threadOf) });
    const translated = { ...contents, contexts: table.contexts };
    if (series === undefined) return translated;
    const changes: HeapSeries["changes"] = new PathMap();
    for (const change of series.changes.values()) {
      const sites = this.sitesOf(change.sites, threadOf);
      entryOf(changes, sites, () => ({ sites, changes: [] })).changes.push(...change.changes);
    }
    const intervals = series.intervals.map((interval) => ({
      ...interval,
      next: interval.next && this.sitesOf(interval.next, threadOf),
    }));
    return { ...translated, series: { ...series, intervals, changes } };
  }

  #numberOf(number: number, threadOf: ThreadOf): number {
    if (number === 0 || number === HostSite.unknown || number === HostSite.beyond) return number;
    const thread = threadOf(Math.floor(number / STACKS_OF_INSTANCE) + 1);
    const stacksOfThread = thread === undefined ? undefined : this.#threads.get(thread);
    return stacksOfThread?.stacks[number % STACKS_OF_INSTANCE] ?? HostSite.unknown;
  }

  /**
   * Returns the frames of a thread's stack by the thread's number for it, innermost first. Empty if the
   * thread has not recorded it.
   */
  framesOfTold(thread: number, number: number): HostFrame[] {
    const stack = this.#threads.get(thread)?.stacks[number];
    return stack === undefined ? [] : this.framesOf(HostSite.unsettled + stack);
  }

  /** Returns the frames of a call site, innermost first. */
  framesOf(site: number): HostFrame[] {
    const number = site & HostSite.numberMask;
    if (number === 0) return [LEFT_OUT];
    if (number === HostSite.beyond) return [BEYOND];
    const frames: HostFrame[] = [];
    for (let at = number; at !== 0; at = this.#stacks[2 * at])
      frames.push(this.#frames[this.#stacks[2 * at + 1]]);
    return frames;
  }

  #frame(frame: HostFrame): number {
    const text = JSON.stringify(frame);
    return entryOf(this.#frameOfText, text, () => this.#frames.push(frame) - 1);
  }

  #stack(caller: number, frame: number): number {
    const key = `${caller} ${frame}`;
    const existing = this.#stackOf.get(key);
    if (existing !== undefined) return existing;
    const number = this.#stacks.length / 2;
    this.#stacks.push(caller, frame);
    this.#stackOf.set(key, number);
    return number;
  }
}

/**
 * Returns the sampling stage of a site: one of 4 ** stage entries of the innermost host frame's kind was
 * requested. 0: all of them.
 */
export function stageOf(site: number): number {
  return (site >>> HostSite.stageShift) & HostSite.stageMask;
}

/**
 * Returns the stage of a context; undefined if all entries of its kind were requested, or it has no caller in
 * the host.
 */
export function stageOfSites(sites: readonly number[]): number | undefined {
  const host = sites.find(isHostSite);
  return host === undefined || stageOf(host) === 0 ? undefined : stageOf(host);
}

/**
 * Frames of the host in a profile, as a segment after those of the modules. They are numbered in the order in
 * which contexts refer to them.
 */
export class HostSegment {
  readonly #start: bigint;
  readonly #callers: HostCallers;
  readonly #indices = new Map<HostFrame, number>();
  readonly #pcs = new Map<number, bigint[]>();

  constructor(start: bigint, callers: HostCallers) {
    this.#start = start;
    this.#callers = callers;
  }

  pcsOf(site: number): bigint[] {
    // The stage does not change the frames, so it is not part of the key.
    const number = site & HostSite.numberMask;
    return entryOf(this.#pcs, number, () => this.#callers.framesOf(site).map((frame) => this.#pcOf(frame)));
  }

  #pcOf(frame: HostFrame): bigint {
    const index = entryOf(this.#indices, frame, () => this.#indices.size);
    // Starts at 1, because no call has the segment's first address.
    return this.#start + 1n + BigInt(index);
  }

  describe(counts: Pick<RunHost, "mode" | "asked" | "leftOut">, describe: DescribeHostFrame): RunHost {
    return {
      ...counts,
      start: `0x${this.#start.toString(16)}`,
      frames: [...this.#indices.keys()].map(describe),
    };
  }

  segment(): RawSegment {
    const frames = [...this.#indices.keys()];
    return {
      start: this.#start,
      end: this.#start + 1n + BigInt(frames.length),
      offset: this.#start,
      buildId: contentId(new TextEncoder().encode(JSON.stringify(frames))),
    };
  }
}
