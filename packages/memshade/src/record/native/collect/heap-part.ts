import { existsSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { ObjectSegment } from "../../../code/objects/index.ts";
import { loadObject } from "../../../names/load/objects.ts";
import { writeRaw } from "../../../profile/formats/memprof-raw/index.ts";
import type { RawSegment } from "../../../profile/model/raw-profile.ts";
import type { RunHeap, RunModule, RunThreads } from "../../../profile/model/run.ts";
import { UNKNOWN_MODULE } from "../../host/run/recorder.ts";
import type { RunPart } from "../../tools/assemble-run.ts";
import { CONTEXT_BYTES, Context, Control } from "../../tools/heap/layout.ts";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import { HeapSession, heapFiles } from "../../tools/heap/read/heap-session.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import { callPath } from "../../tools/heap/read/read-shadow.ts";

import type { InstrumentedInfo } from "../../tools/options.ts";
import { RecordedModules } from "../../tools/recorded-modules.ts";
import { Header, MOST_THREADS, Place, THREAD_BYTES, Thread } from "../layout.ts";
import { NATIVE_LAYOUT } from "../memory-layout.ts";
import { errorInWords } from "../start/system-calls.ts";
import type { ProcessModule } from "./modules.ts";

const EXECUTABLE = 1;

/** Moves the start of a module to its code segment, which MemProf's readers expect. */
export function ofCode(module: ProcessModule, file: string): ProcessModule {
  if (!module.isObject) return module;
  const segment = executableSegment(module.name || file);
  const skipped = segment === undefined ? 0 : segment.address - module.address;
  if (skipped <= 0 || module.start + skipped >= module.end) return module;
  return { ...module, start: module.start + skipped, address: module.address + skipped };
}

function executableSegment(path: string): ObjectSegment | undefined {
  try {
    return loadObject(path).object.segments.find(({ flags }) => (flags & EXECUTABLE) !== 0);
  } catch {
    // The file is gone or is no object, such as the kernel's own.
    return undefined;
  }
}

function segmentOf({ start, end, buildId }: ProcessModule): RawSegment {
  const bytes = Uint8Array.from(buildId.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  return { start: BigInt(start), end: BigInt(end), offset: BigInt(start), buildId: bytes };
}

function isAmong(path: string | null, files: ReadonlySet<string>): boolean {
  return path !== null && existsSync(path) && files.has(realpathSync(path));
}

/**
 * @param file path of the program
 * @param counted paths of files whose code counts all accesses; undefined if no code was inserted
 */
export function describeModule(
  module: ProcessModule,
  index: number,
  file: string,
  counted: ReadonlySet<string> | undefined,
): RunModule {
  const path = module.isObject ? module.name || file : null;
  return {
    index,
    name: path === null ? "[memory with code]" : basename(path),
    path,
    buildId: module.buildId,
    bytes: (path === null ? undefined : statSync(path, { throwIfNoEntry: false })?.size) ?? 0,
    codeBytes: module.end - module.start,
    instances: 1,
    start: `0x${module.start.toString(16)}`,
    object: {
      kind: "elf",
      address: module.address,
      ...(counted === undefined || isAmong(path, counted) ? {} : { isUncounted: true }),
    },
    allocator: { how: "names", confirmed: true, functions: [] },
    functions: [],
    notTracked: [],
  };
}

const RACES =
  "Access counts of blocks that several threads use are lower bounds: two accesses to the same 8 bytes at the same time may count as one.";

function uncountedAccesses(view: DataView): string[] {
  const failure = view.getUint32(Header.countersFailure, true);
  return [
    ...(view.getUint32(Header.threads, true) > 1 ? [RACES] : []),
    ...(failure === 0 ? [] : [unshared(failure)]),
  ];
}

export function unsharedMarks(view: DataView): string[] {
  const failure = view.getUint32(Header.countersFailure, true);
  if (failure === 0) return [];
  return [`There is no working set: no shared memory could be created for it (${errorInWords(failure)}).`];
}

function unshared(failure: number): string {
  return `No shared memory could be created for the access counters (${errorInWords(failure)}): blocks that were live at the end are reported with 0 accesses.`;
}

const NAME_BYTES = 16;

/**
 * Returns the allocations of threads, combined by name, in the order of their first allocation.
 * @param names names by thread id
 */
export function readThreads(memory: SharedArrayBuffer, names: ReadonlyMap<number, string>): RunThreads[] {
  const view = new DataView(memory);
  const count = Math.min(view.getUint32(Header.threads, true), MOST_THREADS);
  const found = new Map<string, RunThreads>();
  for (let index = 0; index < count; index++) {
    const at = Place.threads + index * THREAD_BYTES;
    const field = (offset: number): number => Number(view.getBigUint64(at + offset, true));
    const [allocations, allocatedBytes] = [field(Thread.blocks), field(Thread.bytes)];
    if (allocations === 0) continue;
    const first = new TextDecoder().decode(new Uint8Array(memory, at + Thread.name, NAME_BYTES).slice());
    const name = names.get(view.getUint32(at + Thread.id, true)) ?? first.split("\0", 1)[0]!;
    const sums = found.get(name) ?? { name, threads: 0, allocations: 0, allocatedBytes: 0 };
    found.set(name, {
      name,
      threads: sums.threads + 1,
      allocations: sums.allocations + allocations,
      allocatedBytes: sums.allocatedBytes + allocatedBytes,
    });
  }
  return [...found.values()];
}

export interface RecordedBlocks {
  memory: SharedArrayBuffer;
  /** Undefined if accesses are not counted, or the counters are not shared. */
  counters: GranuleCounters | undefined;
  names: ReadonlyMap<number, string>;
  /** Modules of the program. `ours`: modules that are left out of call paths. */
  modules: readonly ProcessModule[];
  ours: readonly ProcessModule[];
  clock: "virtual" | "wall";
  mappings: boolean;
  /** True if no tool can count its accesses. */
  isLeftAlone: boolean;
  reach: KnownReach | undefined;
}

export interface HeapPart {
  /** `notTracked` covers only gaps of accesses. */
  readonly heap: RunHeap & { notTracked: string[] };
  readonly part: RunPart;
}

export function heapPart({ memory, counters, names, modules, ours, ...options }: RecordedBlocks): HeapPart {
  const { clock, mappings, isLeftAlone, reach } = options;
  const view = new DataView(memory);
  if (clock === "wall") setClock(view);
  const isCounted = view.getUint32(Header.isCounting, true) !== 0;
  const session = new HeapSession({
    clock,
    rawVersion: 5,
    counters: isCounted ? "merged" : "none",
    includeStack: false,
    includeAllocator: false,
    followsBlocks: isCounted,
  });
  const info: InstrumentedInfo = { ...PROCESS_INFO, clock, tools: [isCounted ? "heap" : "alloc"] };
  const recorded = new RecordedModules();
  const instance = recorded.add(info, UNKNOWN_MODULE, null);
  session.addInstance(instance, { buffer: memory, counters: counters ?? NO_COUNTERS }, info);
  session.setReach(instance, reach);
  const facts = { recorded: recorded.all, modules: recorded.describe() };
  const { heap, tool, notTracked, bounds, raw, ...files } = session.figures(facts);
  const contexts = raw.contexts.map((context) => ({ ...context, pcs: withoutOurs(context.pcs, ours) }));
  const contents = writeRaw({ ...raw, contexts, segments: modules.map(segmentOf) }, raw.version);

  // A forked process frees blocks of its parent. Such releases do not make its own figures lower bounds.
  const own =
    view.getUint32(Header.parent, true) === 0 ? bounds : bounds.filter(({ are }) => are !== "least");
  return {
    heap: {
      ...heap,
      threads: readThreads(memory, names),
      notTracked: [
        ...notTracked,
        ...(isLeftAlone ? [LEFT_ALONE] : []),
        ...(isCounted ? uncountedAccesses(view) : []),
      ],
    },
    part: {
      tools: { heap: mappings ? { ...tool, mappings } : tool },
      files: heapFiles(contents, files),
      shadowBytes: heap.profilerBytes,
      bounds: own,
    },
  };
}

/**
 * Returns the sites of a context's call path, innermost first; undefined if it was not stored.
 * @param ours modules that are left out
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

/** Removes sites of memshade from a path: a thread begins in a hook. */
function withoutOurs(pcs: bigint[], ours: readonly ProcessModule[]): bigint[] {
  if (ours.length === 0) return pcs;
  return pcs.filter((pc) => !ours.some(({ start, end }) => pc >= start && pc < end));
}

/**
 * Sets the clock to now, which ends the lifetimes of live blocks. The process updates it only at its events.
 */
function setClock(view: DataView): void {
  const passed = (process.hrtime.bigint() - view.getBigUint64(Header.start, true)) / 1_000_000n;
  view.setUint32(Place.control + Control.wallMs, Number(passed), true);
}

/** Counters for a process that shares none. */
export const NO_COUNTERS: GranuleCounters = { read: (first, end) => new Uint32Array(end - first) };

const LEFT_ALONE = "Accesses were not counted: code of Go programs cannot be instrumented.";

/** Describes the process as one module of the session, with sites as places in code. */
export const PROCESS_INFO: InstrumentedInfo = {
  version: 1,
  name: "process",
  buildId: "",
  originalBytes: 0,
  codeBytes: 0,
  tools: ["alloc"],
  counters: "merged",
  granuleBytes: 8,
  clock: "virtual",
  includeStack: false,
  includeAllocator: false,
  allocator: { how: "names", needsConfirmation: false, functions: [] },
  sharedMemory: false,
  layout: NATIVE_LAYOUT,
  hiddenExports: [],
  notTracked: [],
};
