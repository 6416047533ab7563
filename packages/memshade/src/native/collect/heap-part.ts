import { writeRaw } from "../../formats/memprof-raw/index.ts";
import { HEAP_FILE, UNKNOWN_MODULE } from "../../host/run/recorder.ts";
import { HEAP_INTERVALS_FILE } from "../../model/over-time/heap-intervals.ts";
import type { HeapTool, RunEnd, RunHeap } from "../../model/run.ts";
import { CONTEXT_BYTES, Context, Control } from "../../tools/heap/layout.ts";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import { HeapSession } from "../../tools/heap/read/heap-session.ts";
import { callPath } from "../../tools/heap/read/read-shadow.ts";
import { UNCOUNTED_SENTENCE } from "../../tools/heap/read/uncounted.ts";
import type { InstrumentedInfo } from "../../tools/options.ts";
import type { ProfileFile } from "../../tools/session.ts";
import { Header, Place } from "../layout.ts";
import { NATIVE_LAYOUT } from "../memory-layout.ts";
import type { ProcessModule } from "./modules.ts";
import { segmentOf } from "./run-modules.ts";
import { readThreads } from "./threads.ts";
import { uncountedAccesses } from "./uncounted-accesses.ts";

/** Blocks that a process has left. */
export interface RecordedBlocks {
  memory: SharedArrayBuffer;
  /** Undefined where accesses were not counted, or nobody else sees the counters. */
  counters: GranuleCounters | undefined;
  /** Of threads, by their ids. */
  names: ReadonlyMap<number, string>;
  /** Those of the program, and those whose places are left out of call paths. */
  modules: readonly ProcessModule[];
  ours: readonly ProcessModule[];
  clock: "virtual" | "wall";
  mappings: boolean;
  /** The lines that were touched are in the run. */
  isMarked: boolean;
  /** No tool can count its accesses. */
  isLeftAlone: boolean;
  end: RunEnd;
}

/** What a run has of them. */
export interface HeapPart {
  tool: HeapTool;
  /** What it does not cover is what accesses tell alone. */
  heap: RunHeap & { notTracked: string[] };
  profile: ProfileFile & { contents: Uint8Array };
  intervals: ProfileFile | undefined;
}

/** The heap's part of a run. */
export function heapPart({ memory, counters, names, modules, ours, ...how }: RecordedBlocks): HeapPart {
  const { clock, mappings, isMarked, isLeftAlone, end } = how;
  const view = new DataView(memory);
  if (clock === "wall") setClock(view);
  const isCounted = view.getUint32(Header.isCounting, true) !== 0;
  const session = new HeapSession({
    ...{ clock, rawVersion: 5, counters: isCounted ? "merged" : "none" },
    ...{ includeStack: false, includeAllocator: false, followsBlocks: isCounted },
  });
  session.addInstance(
    { buffer: memory, counters: counters ?? NO_COUNTERS },
    { ...INFO, clock, tools: [isCounted ? "heap" : "alloc"] },
    UNKNOWN_MODULE,
    null,
  );
  const { heap, tool, notTracked, raw, intervals } = session.snapshot(end);
  const contexts = raw.contexts.map((context) => ({ ...context, pcs: withoutOurs(context.pcs, ours) }));
  const contents = writeRaw({ ...raw, contexts, segments: modules.map(segmentOf) }, raw.version);
  const uncounted = isMarked ? UNCOUNTED_BUT_MARKED : isLeftAlone ? UNCOUNTED : `${UNCOUNTED} ${BY_HEAP}`;
  return {
    tool: mappings ? { ...tool, mappings } : tool,
    heap: {
      ...heap,
      threads: readThreads(memory, names),
      notTracked: [
        ...notTracked.map((one) => (one === UNCOUNTED_SENTENCE ? uncounted : one)),
        ...(isCounted ? uncountedAccesses(view) : []),
      ],
    },
    profile: { name: HEAP_FILE, contents },
    intervals:
      intervals.instances.length > 0
        ? { name: HEAP_INTERVALS_FILE, contents: `${JSON.stringify(intervals)}\n` }
        : undefined,
  };
}

/**
 * The sites of the calls that a context stands for, innermost first; undefined: they found no room.
 *
 * @param ours modules whose places are left out
 */
export function contextPath(
  view: DataView,
  context: number,
  ours: readonly ProcessModule[],
): number[] | undefined {
  if (context === 0) return undefined;
  const leaf = view.getUint32(Place.mibs + context * CONTEXT_BYTES + Context.node, true);
  const isOurs = (site: number): boolean => ours.some(({ start, end }) => site >= start && site < end);
  return callPath(view, Place.nodes, leaf).filter((site) => !isOurs(site));
}

/** A path without the functions that stand in front of the program's: what begins a thread calls one of them. */
function withoutOurs(pcs: bigint[], ours: readonly ProcessModule[]): bigint[] {
  if (ours.length === 0) return pcs;
  return pcs.filter((pc) => !ours.some(({ start, end }) => pc >= start && pc < end));
}

/** Blocks that are live end now: the process has looked at the clock when it allocated last. */
function setClock(view: DataView): void {
  const passed = (process.hrtime.bigint() - view.getBigUint64(Header.start, true)) / 1_000_000n;
  view.setUint32(Place.control + Control.wallMs, Number(passed), true);
}

/** Where nobody else sees them. */
const NO_COUNTERS: GranuleCounters = { read: (first, end) => new Uint32Array(end - first) };

const UNCOUNTED =
  "Accesses were not counted: nothing is known of how often, how densely or whether at all blocks were used.";
const BY_HEAP = "--tool heap counts them.";

const UNCOUNTED_BUT_MARKED =
  "How often blocks were used was not counted: --tool heap does that. Which lines were used when is in the working set.";

/** The process as one module of the session: its sites are like places in code. */
const INFO: InstrumentedInfo = {
  ...{ version: 1, name: "process", buildId: "", originalBytes: 0, codeBytes: 0, tools: ["alloc"] },
  ...{ counters: "merged", granuleBytes: 8, clock: "virtual", includeStack: false, includeAllocator: false },
  allocator: { how: "names", needsConfirmation: false, functions: [] },
  ...{ sharedMemory: false, layout: NATIVE_LAYOUT, hiddenExports: [], notTracked: [] },
};
