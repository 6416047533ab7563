import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import { ownDepth, ownPlace } from "../../explain/analyses/frames/own-place.ts";
import { areBlocksSeen } from "../../explain/analyses/heap.ts";
import { findsAnything, type RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import { type StaticsReport, symbolUses } from "../../explain/analyses/statics.ts";
import type { FindingPlace } from "../../explain/findings/finding-kind.ts";
import type { Finding } from "../../explain/findings/index.ts";
import { runFindings } from "../../explain/findings/run-findings.ts";
import { hasColumn } from "../../explain/fleet/measures.ts";
import { isAdditive, MEASURES, stacksOf } from "../../explain/measures/index.ts";
import type { Measure, MeasuredProfiles } from "../../explain/measures/measure.ts";
import { placePath } from "../../explain/measures/measured-stacks.ts";
import { wholeOf } from "../../explain/measures/ranking.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import { readRegular } from "../../names/load/file.ts";
import type { BinaryPlaces, ProfiledBinaries } from "../../names/memprof/binaries.ts";
import { faultOf } from "../../names/memprof/input-reader.ts";
import { expandInputs, type MergeInput } from "../../names/memprof/inputs.ts";
import { isMemprofRaw } from "../../profile/formats/memprof-raw/index.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { NONE } from "../../profile/model/indices.ts";
import type { DataAccessProfile } from "../../profile/model/memprof/index.ts";
import { MIB_FIELDS } from "../../profile/model/mib-fields.ts";
import { RUN_FILE, type Run } from "../../profile/model/run.ts";
import type { WasteFile, WasteFrame, WasteIp } from "../../profile/model/waste.ts";
import type { StackFrame, WorkingSetProfile } from "../../profile/model/working-set/working-set.ts";
import { overTimeOf } from "../../runs/heap.ts";
import { loadTools, recordedTools } from "../../runs/recorded-tools.ts";
import { runOf } from "../../runs/run-of-folder.ts";
import type {
  StoredAmount,
  StoredDataAccess,
  StoredFinding,
  StoredFrame,
  StoredLayout,
  StoredRun,
  StoredWaste,
  StoredWorkingSet,
} from "../stored-run.ts";
import { mergedContexts } from "./merged-contexts.ts";
import { objectsOf, sourceFrame } from "./objects.ts";
import { rawContexts, type SharedFrames } from "./raw-contexts.ts";

const RULES = new FrameRules();

/** Input for a store: a run folder, or a profile without one. */
export interface StoreInput {
  readonly path: string;
  /** Absent for a run without a heap. */
  readonly heap?: MergeInput | undefined;
  readonly folder?: string | undefined;
}

/**
 * Expands arguments to runs and profiles: files, run folders, everything below other folders, and the lines
 * of response files.
 *
 * @throws UserError for a missing file
 */
export function storeInputs(args: readonly string[]): StoreInput[] {
  return args.flatMap((argument): StoreInput[] => {
    const folder = basename(argument) === RUN_FILE ? dirname(argument) : argument;
    const run = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? runOf(folder) : undefined;
    if (run !== undefined && run.tools.heap === undefined) return [{ path: folder, folder }];
    return expandInputs([run === undefined ? argument : folder]).map((heap) => {
      const runFolder = dirname(heap.path);
      // A run without a heap has the results of other tools.
      if (heap.isMissing) return { path: runFolder, folder: runFolder };
      return existsSync(join(runFolder, RUN_FILE)) &&
        heap.modules !== undefined &&
        isHeapOf(runFolder, heap.path)
        ? { path: runFolder, heap, folder: runFolder }
        : { path: heap.path, heap };
    });
  });
}

function isHeapOf(folder: string, file: string): boolean {
  return join(folder, runOf(folder)?.files.heap ?? "heap.memprofraw") === file;
}

export interface Reading {
  readonly places: BinaryPlaces;
  readonly binaries: ProfiledBinaries;
  readonly frames: SharedFrames;
  readonly sayFinding: (finding: Finding) => string;
}

/**
 * Reads all data of a run that a store keeps.
 *
 * @throws UserError with the name of the missing or damaged file
 */
export async function readStoredRun(
  { path, heap, folder }: StoreInput,
  reading: Reading,
): Promise<StoredRun> {
  const { places, sayFinding } = reading;
  const run = folder === undefined ? undefined : runOf(folder);
  const contexts = heap === undefined ? undefined : await contextsOf(heap, run, reading);
  const tools =
    folder === undefined
      ? {}
      : await loadTools(folder, recordedTools(folder), {
          rules: RULES,
          binaryPaths: [...places.binaries, ...places.searchPaths],
        });
  const waste = tools.waste && wasteOf(tools.waste);
  const workingSet = tools.workingset && workingSetOf(tools.workingset);
  const objects = tools.objects && objectsOf(tools.objects);
  const overTime = run === undefined ? undefined : overTimeOf(path, folder!, run);
  const started = statSync(heap?.path ?? join(path, RUN_FILE)).mtimeMs;
  const isUnseen = run?.heap !== undefined && !areBlocksSeen(run.modules);
  return {
    program: run?.program ?? basename(path),
    started: Math.floor(started),
    clock: run === undefined ? "ms" : clockOf(run),
    toolVersion: run?.memshade ?? "",
    isSampled: run?.host?.mode === "sampled" && run.host.leftOut > 0,
    totals: {
      ...(isUnseen ? {} : totalsOf(run, contexts?.contexts ?? [])),
      wastedBytes: waste?.bytes,
      workingSetBytes: workingSet?.largest,
      ...objects?.totals,
    },
    fields: contexts?.fields ?? [],
    contexts: contexts?.contexts ?? [],
    callSites: contexts?.callSites,
    modules: run?.modules.map(({ buildId, name }) => ({ buildId, name })) ?? contexts?.modules ?? [],
    series:
      overTime?.instances.flatMap(({ intervals, instance }) =>
        intervals.end.map((t, index) => ({
          instance,
          t,
          liveBytes: intervals.liveBytes[index]!,
          liveBlocks: intervals.liveBlocks[index]!,
        })),
      ) ?? [],
    waste: waste?.rows ?? [],
    amounts: amountsOf(tools),
    findings: findingsOf(tools, sayFinding),
    dataAccesses:
      tools.statics === undefined
        ? contexts?.dataAccess && listedAccesses(contexts.dataAccess)
        : countedAccesses(tools.statics),
    objects: objects?.rows ?? [],
    layouts: [...(waste?.layouts ?? []), ...(objects?.layouts ?? [])],
    workingSet: workingSet?.rows ?? [],
    leftOut: isUnseen ? [`${path}: no allocator was found, so its heap was not recorded`] : [],
  };
}

/**
 * Returns the unit of a run's clock. Without a heap it is the unit of intervals; waste is counted by
 * accesses.
 */
function clockOf({ tools }: Run): string {
  const { heap, workingset } = tools;
  if (heap !== undefined) return heap.clock.kind === "virtual" ? heap.clock.unit : "ms";
  return String(workingset?.unit ?? "accesses");
}

interface ReadContexts extends Pick<StoredRun, "contexts" | "callSites" | "fields"> {
  readonly dataAccess?: DataAccessProfile | undefined;
  readonly modules: StoredRun["modules"];
}

async function contextsOf(
  { path, modules }: MergeInput,
  run: Run | undefined,
  { places, binaries, frames }: Reading,
): Promise<ReadContexts> {
  const bytes = readRegular(path);
  if (!isMemprofRaw(bytes)) return { ...(await mergedContexts(path, places)), modules: [] };
  for (const module of modules) binaries.add(module.path, module.buildId);
  try {
    const raw = rawContexts(bytes, run, binaries, frames);
    return {
      contexts: raw.contexts,
      callSites: undefined,
      fields: MIB_FIELDS,
      modules: raw.modules.map((buildId) => ({ buildId })),
    };
  } catch (error) {
    throw error instanceof FormatError ? new UserError(`${path} ${faultOf(error)}`) : error;
  }
}

function totalsOf(run: Run | undefined, contexts: StoredRun["contexts"]): StoredRun["totals"] {
  const heap = run?.heap;
  if (heap !== undefined) {
    const { allocations, allocatedBytes, peakBytes, liveBytes, heapAccesses } = heap;
    return { allocations, allocatedBytes, peakBytes, liveBytes, accesses: heapAccesses };
  }
  if (contexts.length === 0) return {};
  return {
    allocations: contexts.reduce((sum, { mib }) => sum + mib.allocCount, 0),
    allocatedBytes: contexts.reduce((sum, { mib }) => sum + Number(mib.totalSize), 0),
    accesses: contexts.reduce((sum, { mib }) => sum + Number(mib.totalAccessCount), 0),
  };
}

/** Returns the accesses that a run counted. All runs together decide which symbols are hot. */
export function countedAccesses(report: StaticsReport): StoredDataAccess[] {
  return Array.from(symbolUses(report), ([symbol, { accesses, isUntouched, places }]) => ({
    symbol,
    accesses,
    isCold: isUntouched,
    isCounted: true,
    places,
  }));
}

/** Returns the accesses that a profile lists, in its order. */
export function listedAccesses({ records, coldSymbols, coldHashes }: DataAccessProfile): StoredDataAccess[] {
  return [
    ...records.map(({ symbol, accessCount, locations }) => ({
      symbol,
      accesses: accessCount,
      isCold: false,
      isCounted: false,
      places: locations,
    })),
    ...[...coldSymbols, ...coldHashes].map((symbol) => ({
      symbol,
      isCold: true,
      isCounted: false,
      places: [],
    })),
  ];
}

export function findingsOf(tools: RecordedTools, say: (finding: Finding) => string): StoredFinding[] {
  if (!findsAnything(tools)) return [];
  const starts = firstLines(tools);
  return runFindings(tools, Number.POSITIVE_INFINITY).map((finding) => ({
    rule: finding.kind,
    place: frameOf(finding.place, starts),
    bytes: finding.unit === "bytes" ? Math.round(finding.amount) : undefined,
    part: finding.part,
    text: say(finding),
  }));
}

function frameOf({ path: [own] }: FindingPlace, starts: ReadonlyMap<string, number>): StoredFrame {
  const { function: name, file, line, address = 0, module } = own!;
  const startLine = starts.get(`${name} ${file}`);
  return sourceFrame({ function: name, file, line, startLine }, address % 2 ** 32, module);
}

/** Returns the first lines of functions by names and files. Keys contain lines relative to these. */
function firstLines({ heap, waste }: RecordedTools): Map<string, number> {
  const firstLineOf = new Map<string, number>(heap === undefined ? [] : firstLinesOfHeap(heap));
  const places = [...(waste?.stores ?? []), ...(waste?.loads ?? []), ...(waste?.blocks ?? [])];
  for (const { function: name, file, startLine = 0 } of places.flatMap(({ ips }) => ips))
    if (startLine > 0) firstLineOf.set(`${name} ${file}`, startLine);
  return firstLineOf;
}

function* firstLinesOfHeap({ frames, functions, strings }: HeapProfile): Generator<[string, number]> {
  for (const [frame, startLine] of (frames.startLine ?? []).entries()) {
    const name = functions.name[frames.function[frame]!]!;
    const file = frames.file[frame]!;
    if (startLine > 0 && name !== NONE && file !== NONE)
      yield [`${strings[name]} ${strings[file]}`, startLine];
  }
}

/** Returns the amounts of all additive measures of a run; by site if no other table has them. */
function amountsOf(profiles: MeasuredProfiles): StoredAmount[] {
  return MEASURES.filter(isAdditive).flatMap((additive) => {
    const whole = wholeOf(additive, profiles);
    if (whole === undefined || additive.unknown?.(profiles) !== undefined) return [];
    return [
      { measure: additive.id, amount: whole },
      ...(hasColumn(additive) ? [] : amountsOfPlaces(additive, profiles)),
    ];
  });
}

function amountsOfPlaces(additive: Measure, profiles: MeasuredProfiles): StoredAmount[] {
  const { amounts, isUnplaced } = additive.column(profiles)!;
  if (isUnplaced === true) return [];
  const stacks = stacksOf(additive.tool, profiles)!;
  const sums = new Map<string, { place: StoredFrame; amount: number }>();
  for (let row = 0; row < stacks.rows.length; row++) {
    const amount = Number(amounts[row]);
    const [own] = amount === 0 ? [] : placePath(stacks, row);
    if (own === undefined || own.isWord === true) continue;
    const place = sourceFrame(own, (own.address ?? 0) % 2 ** 32, own.module);
    const key = `${place.guid} ${place.lineOffset} ${place.place?.buildId}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { place, amount });
    else sum.amount += amount;
  }
  return Array.from(sums.values(), (sum) => ({ measure: additive.id, ...sum }));
}

/**
 * Returns the sites of dead and silent stores and of redundant loads, and all bytes that were overwritten
 * unread.
 */
function wasteOf(waste: WasteFile): {
  readonly rows: readonly StoredWaste[];
  readonly layouts: readonly StoredLayout[];
  readonly bytes: number;
} {
  const blocks = waste.blocks ?? [];
  const rows = [
    ...waste.stores.flatMap(({ ips, dead_overwritten, bytes_silent, nof_silent, nof_stores }) => [
      row("dead", ips, dead_overwritten, nof_stores),
      row("silent", ips, bytes_silent, nof_silent),
    ]),
    ...waste.loads.map(({ ips, bytes_redundant = 0, nof_redundant = 0 }) =>
      row("redundant", ips, bytes_redundant, nof_redundant),
    ),
    ...blocks.map(({ ips, unread_bytes, unread_blocks }) =>
      row("unread-blocks", ips, unread_bytes, unread_blocks),
    ),
    ...blocks.map(({ ips, never_read, blocks: count }) => row("never-read", ips, never_read, count)),
  ];
  const layouts = blocks.flatMap(({ ips, type, element, bytes, fields }): StoredLayout[] =>
    element === undefined || fields === undefined
      ? []
      : [{ place: placeOf(ips), type: type?.name, element, bytes, fields }],
  );
  return { rows: rows.filter(({ bytes }) => bytes > 0), layouts, bytes: waste.totals.deadOverwritten };
}

function row(kind: string, ips: readonly WasteIp[], bytes: number, count: number): StoredWaste {
  return { kind, place: placeOf(ips), bytes, count };
}

/** Returns the innermost frame of the program's own code. */
function placeOf(ips: readonly WasteIp[]): StoredFrame {
  const own = ownPlace<WasteFrame>(ips);
  const { address = 0, module } = ips[own?.depth ?? 0] ?? {};
  return sourceFrame(own?.frame ?? ips[0] ?? {}, address % 2 ** 32, module);
}

/** Returns the working sets of all instances, one after the other, at the finest scale. */
function workingSetOf({ instances, lineBytes }: WorkingSetProfile): {
  readonly rows: readonly StoredWorkingSet[];
  readonly largest: number;
} {
  const rows = instances.flatMap(({ levels: [finest], owners, fill }): StoredWorkingSet[] => {
    const places = owners?.contexts.map(({ kind, stack }) => (kind === "code" ? ownFrame(stack) : undefined));
    return (finest?.start ?? []).map((start, index) => ({
      start,
      accesses: finest!.end[index]! - start,
      bytes: (finest!.counts.lines?.[index] ?? 0) * lineBytes,
      touchedBytes: fill?.levels[0]?.bytes[index],
      owners: (owners?.levels[0]?.intervals[index] ?? []).flatMap(([context, lines]) => {
        const place = places![context];
        return place === undefined ? [] : [{ place, lines }];
      }),
    }));
  });
  return { rows, largest: rows.reduce((most, { bytes }) => Math.max(most, bytes), 0) };
}

function ownFrame(
  stack: readonly (StackFrame & { readonly library?: string | undefined })[],
): StoredFrame | undefined {
  const frame = stack[Math.max(0, ownDepth(stack.map(({ library }) => library)))];
  return (
    frame && sourceFrame({ ...frame, function: frame.name ?? `func[${frame.function}]` }, frame.offset ?? 0)
  );
}
