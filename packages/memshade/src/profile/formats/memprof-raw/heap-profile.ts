import { entryOf } from "../../../ground/bytes/entries.ts";
import { agreeing, counted } from "../../model/counted.ts";
import type {
  HeapProfile,
  ProfileDescription,
  ProfileModule,
  ResolvedFrame,
  Symbolizer,
} from "../../model/heap-profile.ts";
import { HeapProfileBuilder } from "../../model/heap-profile-builder.ts";
import { namedHostFrame } from "../../model/host-frame.ts";
import { MIB_FIELDS } from "../../model/mib-fields.ts";
import type { RawProfile, RawSegment } from "../../model/raw-profile.ts";
import {
  emptySite,
  type Run,
  type RunHeap,
  type RunHost,
  type RunModule,
  type RunSite,
  TRAMPOLINE_BYTES,
} from "../../model/run.ts";

/**
 * Builds the tables of a raw profile.
 *
 * @param run the run that wrote the file. Without a run (clang's runtime, or a file on its own) totals, peak and leaks
 * are unknown, and times are taken as milliseconds, as MemProf defines them.
 * @param symbolizerFor returns the symbolizer of PCs in the given modules
 */
export function heapProfileFromRaw(
  raw: RawProfile,
  run: Run | undefined,
  symbolizerFor: (modules: readonly ProfileModule[]) => Symbolizer,
): HeapProfile {
  const host = run?.host;
  const isHost = ({ start }: RawSegment): boolean => host !== undefined && start === BigInt(host.start);
  const modules = [
    ...raw.segments.filter((segment) => !isHost(segment)).map((segment) => moduleOf(segment, run)),
    // A module that never allocated may have no segment, but reports still name it.
    ...(run?.modules ?? [])
      .map((module) => segmentOf(module))
      .filter(({ start }) => !raw.segments.some((segment) => segment.start === start))
      .map((segment) => moduleOf(segment, run)),
  ];
  const symbolize = rememberFrames(withHost(symbolizerFor(modules), host));
  const symbolizeLeaf = rememberFrames((pc) => markHostCall(symbolize(pc), modules));
  const sites = new Map(run?.heap?.sites.map((site) => [BigInt(site.stackId), site]));
  const builder = new HeapProfileBuilder(describe(raw, run, sites), modules);
  for (const { stackId, mib, pcs } of raw.contexts) {
    const site = run?.heap === undefined ? undefined : (sites.get(stackId) ?? emptySite(`${stackId}`));
    builder.addContext(
      stackId,
      pcs.flatMap((pc, depth) => (depth === 0 ? symbolizeLeaf : symbolize)(pc)),
      mib,
      site,
    );
  }
  return builder.build();
}

function withHost(symbolize: Symbolizer, host: RunHost | undefined): Symbolizer {
  if (host === undefined) return symbolize;
  const first = BigInt(host.start) + 1n;
  return (pc) => {
    const frame = pc < first ? undefined : host.frames[Number(pc - first)];
    return frame === undefined ? symbolize(pc) : [{ ...namedHostFrame(frame), offset: Number(pc - first) }];
  };
}

/** Caches frames by PC, because contexts share most of their PCs. */
function rememberFrames(symbolize: Symbolizer): Symbolizer {
  const cache = new Map<bigint, ReturnType<Symbolizer>>();
  return (pc) => {
    return entryOf(cache, pc, () => symbolize(pc));
  };
}

/**
 * Marks a leaf frame that is an allocation function. Allocators are folded out of call paths, so the host called such a
 * function directly, and the PC is the function's own.
 */
function markHostCall(
  frames: readonly ResolvedFrame[],
  modules: readonly ProfileModule[],
): readonly ResolvedFrame[] {
  const [leaf, ...outerFrames] = frames;
  const allocator = leaf?.module === undefined ? undefined : modules[leaf.module]!.allocator;
  return leaf !== undefined && allocator?.functions.some(({ index }) => index === leaf.wasmIndex)
    ? [{ ...leaf, fromHost: true }, ...outerFrames]
    : frames;
}

function moduleOf(segment: RawSegment, run: Run | undefined): ProfileModule {
  const buildId = Array.from(segment.buildId, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const module = run?.modules.find(({ start }) => BigInt(start) === segment.start);
  return {
    name: module?.name ?? (buildId === "" ? "unknown module" : buildId.slice(0, 8)),
    path: module?.path ?? undefined,
    script: module?.script,
    buildId,
    start: segment.start,
    end: segment.end,
    instances: module?.instances,
    instancesBy: module?.instancesBy,
    stackTakes: module?.stackTakes,
    bytes: module?.bytes,
    exports: module?.exports,
    allocator: module?.allocator,
    objectAddress: module?.object?.address,
    isUncounted: module?.object?.isUncounted,
  };
}

function segmentOf({ start, codeBytes, buildId }: RunModule): RawSegment {
  return {
    start: BigInt(start),
    end: BigInt(start) + BigInt(codeBytes),
    offset: BigInt(start),
    buildId: Uint8Array.from(buildId.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)),
  };
}

const ACCESS_FIELDS = MIB_FIELDS.map(({ name }) => name).filter((name) => name.includes("Access"));

function describe(
  raw: RawProfile,
  run: Run | undefined,
  sites: ReadonlyMap<bigint, RunSite>,
): ProfileDescription {
  if (run === undefined)
    return {
      clock: { kind: "wall", unit: "ms" },
      granuleBytes: 8,
      rawVersion: raw.version,
      notTracked: [
        "This raw profile has no run.json: peak and leaks are not known, functions are shown as [build id]+offset " +
          "(give the program with --binary-path), and times are taken as milliseconds.",
      ],
    };
  const { sites: _, notTracked = [], ...totals } = run.heap ?? { sites: [] };
  const tool = run.tools.heap;
  return {
    program: run.program,
    command: run.command,
    children: run.children,
    recordedBy: run.memshade,
    presence: run.presence,
    end: run.end,
    clock: tool?.clock ?? { kind: "wall", unit: "ms" },
    counters: tool?.counters,
    knownHost: tool?.knownHost,
    ...(tool?.counters === "none" ? { unknownFields: ACCESS_FIELDS } : {}),
    granuleBytes: tool?.granuleBytes ?? 8,
    rawVersion: raw.version,
    host: run.host && { mode: run.host.mode, asked: run.host.asked, leftOut: run.host.leftOut },
    totals: run.heap && (totals as Omit<RunHeap, "sites" | "notTracked">),
    notTracked: [
      ...notTracked,
      ...run.notTracked,
      ...run.modules.flatMap((module) => gapsOfModule(module, run.modules.length > 1)),
      ...gapsOfHeap(raw, run, sites),
    ],
  };
}

function gapsOfModule({ name, codeBytes, allocator, notTracked }: RunModule, isOneOfMany: boolean): string[] {
  const gaps = [...notTracked];
  if (allocator.refused !== undefined) gaps.push(allocator.refused);
  else if (allocator.how === "none" && !(isOneOfMany && codeBytes <= TRAMPOLINE_BYTES))
    gaps.push("No allocator was found, so its heap is not profiled.");
  else if (allocator.confirmed === false)
    gaps.push(
      "The functions taken for its allocator did not behave like one: its blocks are not reliable. --allocator names the right functions.",
    );
  return gaps.map((gap) => `${name}: ${gap}`);
}

function gapsOfHeap(raw: RawProfile, run: Run, sites: ReadonlyMap<bigint, RunSite>): string[] {
  const heap = run.heap;
  if (heap === undefined) return ["The run has no heap totals: peak and leaks are not known."];
  const gaps: string[] = [];
  // Bounds are options for wasm programs, and fixed for native programs.
  const isNative = run.modules.some(({ object }) => object !== undefined);
  const { contexts, blocks } = heap.overflow;
  if (contexts > 0)
    gaps.push(
      `The table of call paths was full: ${counted(contexts, "allocation of further paths is", "allocations of further paths are")} ` +
        (isNative
          ? "counted together, as allocations of unknown code."
          : "counted together (--max-contexts raises the bound)."),
    );
  if (blocks > 0)
    gaps.push(
      isNative
        ? `${counted(blocks, "allocation is", "allocations are")} missing in the peak, the live blocks and the lifetimes: ` +
            "blocks of 4 GiB or more, or beyond the full table of live blocks."
        : `The table of live blocks was full: ${counted(blocks, "allocation has", "allocations have")} no lifetime and no ` +
            "access counts (--max-blocks raises the bound).",
    );
  const missing = raw.contexts.filter(({ stackId }) => !sites.has(stackId)).length;
  if (missing > 0)
    gaps.push(
      `${missing} of ${counted(raw.contexts.length, "call path")} ${agreeing(missing, "has", "have")} no entry in run.json and ${agreeing(missing, "counts", "count")} as empty.`,
    );
  return gaps;
}
