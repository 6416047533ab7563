import { contentId } from "../../../../code/wasm/index.ts";
import type { RawSegment } from "../../../../profile/model/raw-profile.ts";
import type { RunHost, RunHostFrame } from "../../../../profile/model/run.ts";
import { HostSite } from "../../../contexts/layout.ts";
import { STACKS_OF_INSTANCE } from "../../host-interface.ts";
import type { HeapSeries } from "./block-entry.ts";
import { ContextTable, pathKey } from "./context-table.ts";
import type { ShadowContents } from "./read-shadow.ts";

/** A frame as a thread tells of it. */
export interface HostFrame extends RunHostFrame {
  /** Where its function begins in the script, as far as the engine tells. */
  start?: { line: number; column: number } | undefined;
}

/** What is told of a frame in the profile. */
export type DescribeHostFrame = (frame: HostFrame) => RunHostFrame;

/** A frame as the engine has told of it: nobody reads the scripts. */
export function withoutStart({ start: _, ...frame }: HostFrame): RunHostFrame {
  return frame;
}

/** Stacks of the host that one thread has told of: see `HostStackNews`. */
export interface ToldStacks {
  frames: readonly HostFrame[];
  stacks: readonly number[];
}

/** Which thread's stacks the host sites of an instance are: by the number that it has where several share their tables. */
export type ThreadOf = (local: number) => number | undefined;

const LEFT_OUT: HostFrame = { name: "[callers not asked]", is: "left-out" };
const BEYOND: HostFrame = { name: "[stacks beyond the bound]", is: "unknown" };

/** Whether the site of a context stands for an entry of the host. */
export function isHostSite(site: number): boolean {
  return site >= HostSite.unsettled;
}

/** The stacks that have entered modules in a run, of all threads: equal ones are one, whoever told of them. */
export class HostCallers {
  readonly #frames: HostFrame[] = [];
  readonly #frameOfText = new Map<string, number>();
  /** Two numbers per stack, the stack that has called and the innermost frame; the first stack is the empty one. */
  readonly #stacks: number[] = [0, 0];
  readonly #stackOf = new Map<string, number>();
  readonly #threads = new Map<number, { frames: number[]; stacks: number[] }>();

  learn(thread: number, { frames, stacks }: ToldStacks): void {
    const known = this.#threads.get(thread) ?? { frames: [], stacks: [0] };
    this.#threads.set(thread, known);
    for (const frame of frames) known.frames.push(this.#frame(frame));
    for (let i = 0; i < stacks.length; i += 2)
      known.stacks.push(this.#stack(known.stacks[stacks[i]], known.frames[stacks[i + 1]]));
  }

  /**
   * Call sites of a context as they are in all threads, innermost first: those of entries that could not be asked are left out, and
   * only the innermost has its stage.
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

  /** The figures of an instance with call sites as they are in all threads. */
  inAllThreads(contents: ShadowContents, threadOf: ThreadOf): ShadowContents {
    const { contexts, series } = contents;
    const hasHost = ({ sites }: { sites: readonly number[] }): boolean => sites.some(isHostSite);
    if (!contexts.some(hasHost) && !(series && [...series.changes.values()].some(hasHost))) return contents;
    const table = new ContextTable();
    for (const context of contexts)
      table.add(0, { ...context, sites: this.sitesOf(context.sites, threadOf) });
    const told = { ...contents, contexts: table.contexts.map((context) => ({ ...context, peakStamp: 0 })) };
    if (series === undefined) return told;
    const changes: HeapSeries["changes"] = new Map();
    for (const one of series.changes.values()) {
      const sites = this.sitesOf(one.sites, threadOf);
      const known = changes.get(pathKey(sites))?.changes ?? [];
      changes.set(pathKey(sites), { sites, changes: [...known, ...one.changes] });
    }
    const intervals = series.intervals.map((interval) => ({
      ...interval,
      next: interval.next && this.sitesOf(interval.next, threadOf),
    }));
    return { ...told, series: { ...series, intervals, changes } };
  }

  #numberOf(number: number, threadOf: ThreadOf): number {
    if (number === 0 || number === HostSite.unknown || number === HostSite.beyond) return number;
    const thread = threadOf(Math.floor(number / STACKS_OF_INSTANCE) + 1);
    const told = thread === undefined ? undefined : this.#threads.get(thread);
    return told?.stacks[number % STACKS_OF_INSTANCE] ?? HostSite.unknown;
  }

  /** The frames of a stack by the number that a thread has for it, innermost first; none where it has told of none. */
  framesOfTold(thread: number, number: number): HostFrame[] {
    const known = this.#threads.get(thread)?.stacks[number];
    return known === undefined ? [] : this.framesOf(HostSite.unsettled + known);
  }

  /** The frames of a call site, innermost first. */
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
    const known = this.#frameOfText.get(text);
    if (known !== undefined) return known;
    const number = this.#frames.push(frame) - 1;
    this.#frameOfText.set(text, number);
    return number;
  }

  #stack(caller: number, frame: number): number {
    const key = `${caller} ${frame}`;
    const known = this.#stackOf.get(key);
    if (known !== undefined) return known;
    const number = this.#stacks.length / 2;
    this.#stacks.push(caller, frame);
    this.#stackOf.set(key, number);
    return number;
  }
}

/** Of how many entries one was asked when that of the innermost host frame came: 4 to the power of the stage. 0: all. */
export function stageOf(site: number): number {
  return (site >>> HostSite.stageShift) & HostSite.stageMask;
}

/** The stage of a context; undefined: all of its kind were asked, or it has no caller in the host. */
export function stageOfSites(sites: readonly number[]): number | undefined {
  const host = sites.find(isHostSite);
  return host === undefined || stageOf(host) === 0 ? undefined : stageOf(host);
}

/** The frames of the host in a profile, as one more segment behind those of the modules: in the order in which contexts have them. */
export class HostSegment {
  readonly #start: bigint;
  readonly #callers: HostCallers;
  readonly #indices = new Map<HostFrame, number>();
  readonly #pcs = new Map<number, bigint[]>();

  constructor(start: bigint, callers: HostCallers) {
    this.#start = start;
    this.#callers = callers;
  }

  /** Addresses that stand for the frames of a call site, innermost first. */
  pcsOf(site: number): bigint[] {
    // The stage is none of the frames' business.
    const number = site & HostSite.numberMask;
    let pcs = this.#pcs.get(number);
    if (pcs === undefined) {
      pcs = this.#callers.framesOf(site).map((frame) => this.#pcOf(frame));
      this.#pcs.set(number, pcs);
    }
    return pcs;
  }

  #pcOf(frame: HostFrame): bigint {
    const index = this.#indices.get(frame) ?? this.#indices.size;
    this.#indices.set(frame, index);
    // No address of a call is the segment's first.
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
