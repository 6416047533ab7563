import fs from "node:fs";
import path from "node:path";
import { withOwnSites } from "../explain/analyses/frames/mark-frames.ts";
import { withEstimatedCallers } from "../explain/analyses/host-stacks.ts";
import { suppressLeaks } from "../explain/analyses/suppress-leaks.ts";
import { FormatError, UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { readRegular } from "../names/load/file.ts";
import { faultOf } from "../names/memprof/input-reader.ts";
import { createRunSymbolizer } from "../names/symbolize/run-functions.ts";
import { withLines } from "../names/symbolize/run-lines.ts";
import { heapProfileFromRaw, isMemprofRaw, readRaw } from "../profile/formats/memprof-raw/index.ts";
import type { HeapProfile, ProfileModule } from "../profile/model/heap-profile.ts";
import type { HeapIntervals } from "../profile/model/over-time/heap-intervals.ts";
import { readHeapIntervals } from "../profile/model/over-time/read-heap-intervals.ts";
import { RUN_FILE, type Run } from "../profile/model/run.ts";
import { loadRun } from "./run-of-folder.ts";
import { type OriginalPlaces, RunSymbols } from "./run-symbols.ts";
import type { OwnCode } from "./suppressions.ts";

const DEFAULT_HEAP_FILE = "heap.memprofraw";

export interface LoadedHeap {
  readonly input: string;
  readonly profile: HeapProfile;
  /** Absent for a raw file without a run.json beside it. */
  readonly run: Run | undefined;
}

/**
 * Reads the heap profile of a run's directory, of its `run.json`, of a MemProf file (raw, indexed, YAML or
 * memshade), or of DHAT, pprof or heaptrack. A raw file that the run.json beside it names is read with that
 * run. Lines come from the original modules, if they are found.
 *
 * @param places further places of the original modules
 * @throws UserError in one line if the input does not exist, is no run, is damaged, or has no heap profile
 */
export async function loadHeap(
  input: string,
  { rules, suppressions = [], ...places }: OriginalPlaces & OwnCode = {},
): Promise<LoadedHeap> {
  const loaded = await loadPlain(input, places);
  const profile = suppressLeaks(loaded.profile, suppressions);
  return { ...loaded, profile: rules === undefined ? profile : withOwnSites(profile, rules) };
}

async function loadPlain(input: string, places: OriginalPlaces): Promise<LoadedHeap> {
  if (statusOf(input).isDirectory()) return loadDirectory(input, input, places);
  if (path.basename(input) === RUN_FILE) return loadDirectory(input, path.dirname(input), places);
  return loadFile(input, places);
}

export function statusOf(input: string): fs.Stats {
  const status = fs.statSync(input, { throwIfNoEntry: false });
  if (status === undefined) throw new UserError(`${input}: there is no such file or directory`);
  return status;
}

/** True if a run's directory or `run.json` lists a heap profile. True for other files, which may be one. */
export function hasHeap(input: string): boolean {
  const runFile = fs.statSync(input, { throwIfNoEntry: false })?.isDirectory()
    ? path.join(input, RUN_FILE)
    : input;
  if (path.basename(runFile) !== RUN_FILE) return path.extname(runFile) !== ".json";
  return !fs.existsSync(runFile) || loadRun(runFile).tools.heap !== undefined;
}

async function loadDirectory(input: string, directory: string, places: OriginalPlaces): Promise<LoadedHeap> {
  const runFile = path.join(directory, RUN_FILE);
  if (!fs.existsSync(runFile))
    throw new UserError(`${input} is not a memshade run: no ${RUN_FILE} in it${suggestRuns(directory)}`);
  const run = loadRun(runFile);
  if (run.tools.heap === undefined)
    throw new UserError(`${input} has no heap profile: it was recorded without the heap tool`);
  const heapFile = path.join(directory, run.files.heap ?? DEFAULT_HEAP_FILE);
  if (!fs.existsSync(heapFile))
    throw new UserError(`${input} is incomplete: ${path.basename(heapFile)} is missing`);
  const profile = await profileOf(heapFile, run, places);
  return { input, run, profile: { ...profile, overTime: overTimeOf(input, directory, run) } };
}

/**
 * Reads the heap over time of a run's directory; undefined if it was not recorded.
 *
 * @throws UserError if its file is missing or damaged
 */
export function overTimeOf(input: string, directory: string, run: Run): HeapIntervals | undefined {
  const name = run.files.heapIntervals;
  if (name === undefined) return undefined;
  const file = path.join(directory, name);
  if (!fs.existsSync(file)) throw new UserError(`${input} is incomplete: ${name} is missing`);
  try {
    return readHeapIntervals(readFile(file).toString("utf8"));
  } catch (error) {
    throw error instanceof UserError ? new UserError(`${file}: ${error.message}`) : error;
  }
}

async function loadFile(file: string, places: OriginalPlaces): Promise<LoadedHeap> {
  const runFile = path.join(path.dirname(file), RUN_FILE);
  if (fs.existsSync(runFile)) {
    const run = loadRun(runFile);
    if ((run.files.heap ?? DEFAULT_HEAP_FILE) === path.basename(file)) {
      const profile = await profileOf(file, run, places);
      return {
        input: file,
        run,
        profile: { ...profile, overTime: overTimeOf(file, path.dirname(file), run) },
      };
    }
  }
  return { input: file, run: undefined, profile: await profileOf(file, undefined, places) };
}

async function hintOf(bytes: Uint8Array): Promise<string> {
  const kind = (await otherHeaps()).kindOfContent(bytes);
  return kind === undefined ? "" : `: ${kind}`;
}

/** Loads the readers of heaps of other tools, which a run does not need. */
const otherHeaps = () => import("./other-heaps.ts");

async function profileOf(file: string, run: Run | undefined, places: OriginalPlaces): Promise<HeapProfile> {
  const others = run === undefined ? await otherHeaps() : undefined;
  const native = await others?.memprofHeapProfile(file, places.binaryPaths);
  if (native !== undefined) return native;
  const bytes = readFile(file);
  const imported = others?.importedHeap(file, bytes, places.binaryPaths);
  if (imported !== undefined) return imported;
  if (!isMemprofRaw(bytes)) {
    const otherFormats =
      run === undefined ? ", and none of DHAT, pprof, heaptrack, jemalloc or gperftools" : "";
    throw new UserError(`${file} is not a MemProf profile${otherFormats}${await hintOf(bytes)}`);
  }
  try {
    const raw = readRaw(bytes);
    const symbols = new RunSymbols(places, run?.modules);
    const notedOf = ({ start }: ProfileModule) =>
      run?.modules.find((module) => BigInt(module.start) === start)?.places;
    const named = heapProfileFromRaw(raw, run, (modules) =>
      withLines(createRunSymbolizer(modules, run, loadDemangler()), modules, (index) =>
        run === undefined ? undefined : symbols.symbolsOf(modules[index]!, notedOf(modules[index]!)),
      ),
    );
    const profile = withEstimatedCallers(symbols.withHoles(await symbols.withNativeLayers(named)));
    const { description } = profile;
    const missing = symbols.missing.filter((sentence) => run?.notTracked.includes(sentence) !== true);
    return {
      ...profile,
      modules: profile.modules.map(withReadableAllocator),
      description: {
        ...description,
        notTracked: [...description.notTracked, ...missing, ...symbols.advice()],
      },
    };
  } catch (error) {
    throw error instanceof FormatError ? new UserError(`${file} ${faultOf(error)}`) : error;
  }
}

/** Demangles the names of allocation functions, which `run.json` has as in the module. */
function withReadableAllocator(module: ProfileModule): ProfileModule {
  const { allocator } = module;
  if (allocator === undefined) return module;
  const functions = allocator.functions.map((hooked) =>
    hooked.name === undefined ? hooked : { ...hooked, name: loadDemangler()(hooked.name) },
  );
  return { ...module, allocator: { ...allocator, functions } };
}

function readFile(file: string): Buffer {
  try {
    return readRegular(file);
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}

/** Suggests runs one level below a directory, because users often name the output directory. */
function suggestRuns(directory: string): string {
  const runs = fs
    .readdirSync(directory)
    .filter((name) => fs.existsSync(path.join(directory, name, RUN_FILE)))
    .sort();
  if (runs.length === 0) return "";
  const [first] = runs;
  return runs.length === 1
    ? ` (there is one in ${path.join(directory, first!)})`
    : ` (there are ${runs.length} runs below it, such as ${path.join(directory, first!)})`;
}
