import { existsSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { UserError } from "../../ground/bytes/errors.ts";
import { type LoadedObject, loadObject } from "../../names/load/objects.ts";
import { counted } from "../../profile/model/counted.ts";
import type { RunEnd } from "../../profile/model/run.ts";
import { onSignals, unlessSignalled } from "../host/run/die-by-signal.ts";
import { programEnvironment } from "../host/run/inherited.ts";
import { NOT_WRITTEN } from "../host/run/profile-failure.ts";
import { Progress } from "../host/run/progress.ts";
import { programName, type RunFolders } from "../host/run/run-folder.ts";
import { type RunOutcome, type RunPlace, supervise } from "../host/run/supervise.ts";
import { say } from "../host/run/terminal-line.ts";
import { childLines } from "./collect/child-lines.ts";
import { ChildProcesses } from "./collect/child-processes.ts";
import { Dumps } from "./collect/dumps.ts";
import { EndedRecording } from "./collect/ended-recording.ts";
import { FreedCounts } from "./collect/freed-counts.ts";
import type { RecordedProgram } from "./collect/left-behind.ts";
import { MemoryWatch } from "./collect/memory-watch.ts";
import { type ProfileTarget, ProfileWriter, type WrittenChild } from "./collect/profile-writer.ts";
import { unseenChildren } from "./collect/recorded-run.ts";
import { type PlacedImage, placeImage } from "./image/place-image.ts";
import { Header } from "./layout.ts";
import type { InsertedTool, NativeTool } from "./native-tool.ts";
import type { ReachFacts } from "./reach/process-look.ts";
import { RewrittenRun } from "./rewritten/rewritten-run.ts";
import { ProcessSamples } from "./sampling/sample-reader.ts";
import { checkLimits } from "./start/check-limits.ts";
import { checkProgram, isGo, type NativeProgram } from "./start/check-program.ts";
import { checkSanitizer } from "./start/check-sanitizer.ts";
import { findAllocator, sharedWithChildren } from "./start/find-allocator.ts";
import { launcherIn, REFUSED } from "./start/launcher.ts";
import { killedForMemory } from "./start/memory-group.ts";
import { neededObjects } from "./start/needed-objects.ts";
import {
  type ExecutedProgram,
  executedProgram,
  type ProgramEnd,
  startProgram,
} from "./start/start-program.ts";
import { errorInWords } from "./start/system-calls.ts";
import type { TableCache } from "./tables/tables-file.ts";
import { isMarking, nativeTool, shadowBytes, usedCountsBytes } from "./tools/index.ts";
import {
  type MarkedProcess,
  type NativeIntervals,
  NativeWorkingSetSession,
} from "./tools/working-set/read/native-session.ts";

const NS_PER_SECOND = 1e9;

/** Returns the nanoseconds of CPU time between two samples. */
export function samplePeriod(hz: number): number {
  return Math.round(NS_PER_SECOND / hz);
}

export interface NativeRun {
  /** Program as it was typed: a path, or a name in PATH. */
  path: string;
  args: readonly string[];
  /** Template of the run folder, see `expandOutTemplate`. */
  out?: string | undefined;
  /** Samples of call paths per second of CPU time; undefined: no samples. */
  sampleHz?: number | undefined;
  /** Does not print the folder of a written profile. */
  isQuiet?: boolean | undefined;
  /** Unit of lifetimes: allocations so far (default), or milliseconds. */
  clock?: "virtual" | "wall" | undefined;
  /** Records the blocks of the program's allocator. */
  blocks?: boolean | undefined;
  /** Also records memory that the program maps itself. */
  mappings?: boolean | undefined;
  traceChildren?: boolean | undefined;
  /** Does not search which live blocks can still be reached at the end. */
  noReach?: boolean | undefined;
  /** Tool whose code is inserted into the program and its libraries; undefined: none. */
  tool?: InsertedTool | undefined;
  /** Unit and length of intervals, for the tool of working sets. */
  intervals?: NativeIntervals | undefined;
  /** Most bytes of memory for recording; default: half of the free memory. */
  memoryLimit?: number | undefined;
  /** Called with the folder of the profile, after all other output. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
  /** Called before `onWritten`, with the folders of dumps and of children. */
  onOthersWritten?: ((folders: readonly string[]) => Promise<void>) | undefined;
}

/** Exit code for a user's mistake or a refusal of the system, as in all commands. */
const REFUSED_BY_US = 2;
const STACKS_HZ = 97;
const PART_OF_FREE_MEMORY = 1 / 2;
/** Largest part of the free room on the file system of the shared memory. */
const PART_OF_ROOM = 3 / 4;
const STILL_RUNNING =
  "processes that the program has started are still running: they are not recorded any further";
const NO_MEMORY = "a limit of addresses or file sizes, a sandbox, or no room in /dev/shm";
const NOT_RECORDED = `was not recorded, and no profile was written: it did not start, has file capabilities, or could not create its shared memory (${NO_MEMORY})`;
const NOT_STARTED = "the program has not started yet: no dump was written";
const OVER = "the recording ends, and the program goes on: see --memory-limit";
const GO =
  "is a Go program, which cannot be instrumented because its code moves its stacks: only allocations by C code are recorded";
const FULL = "is full, so the program was ended by SIGBUS: free some room, or enlarge that file system";
const KILLED_FOR_MEMORY =
  "the system has killed a process because the control group reached its memory limit; the recording takes 64 bytes per live block and 30 MB of it: raise the limit";

/**
 * Runs a native program, and records its allocations. SIGUSR2 writes a dump.
 * @returns the program's exit code. If a signal ended the program, this process dies by the same signal.
 * @throws UserError before the program has started
 */
export async function runNative(request: NativeRun): Promise<number> {
  const executed = executedProgram(request.path, request.args);
  const program = checkProgram(executed.file);
  const isLeftAlone = request.tool !== undefined && isGo(program.object);
  const run = isLeftAlone ? { ...request, tool: undefined, blocks: true } : request;
  if (isLeftAlone) say(`${run.path} ${GO}`);
  checkSanitizer(program, run.tool !== undefined);
  checkLimits(undefined, run.tool && shadowBytes(run.tool));
  const { out, onWritten } = run;
  return supervise({ out, program: programName(run.path), isHeld: out !== undefined, onWritten }, (place) =>
    recordProgram(run, executed, program, place),
  );
}

async function recordProgram(
  run: NativeRun,
  executed: ExecutedProgram,
  program: NativeProgram,
  { folders, folder, claim }: RunPlace,
): Promise<RunOutcome> {
  let ended: ProgramEnd;
  const recording = new NativeRecording(run);
  const killed = killedForMemory();
  try {
    const stopListening = onSignals({ SIGUSR2: () => say(NOT_STARTED) });
    const recorded = await unlessSignalled(() => recording.prepare(executed.file, program)).finally(
      stopListening,
    );
    ended = await recording.run(executed, recorded, folders);
    if (ended.signal === "SIGKILL" && killedForMemory() !== killed) say(KILLED_FOR_MEMORY);
    const full = ended.signal === "SIGBUS" ? recording.fullFolder : undefined;
    if (full !== undefined) say(`${full} ${FULL}`);
    // The reason was thrown, or the process has printed it.
    if (recording.isRefused(ended)) return { code: REFUSED_BY_US };
    await recording.write({ folder, claim, what: "profile" }, recorded, endOf(ended));
  } finally {
    recording.close();
  }
  await run.onOthersWritten?.(recording.writer.folders.filter((other) => other !== folder));
  if (recording.areChildrenRunning) say(STILL_RUNNING);
  const isComplete = recording.isWritten && recording.writer.isComplete;
  return {
    code: isComplete ? (ended.code ?? 0) : NOT_WRITTEN,
    signal: ended.signal,
    written: recording.isWritten ? folder : undefined,
  };
}

/** Builds missing tables for walking stacks. A large object takes seconds, the first time only. */
function makeTables(
  objects: readonly LoadedObject[],
  tables: TableCache,
  isQuiet: boolean | undefined,
): void {
  const missing = objects.filter(({ object }) => !tables.has(object));
  const progress = new Progress(
    "building tables for unwinding stacks, once per file",
    isQuiet ? false : undefined,
  );
  missing.forEach(({ object }, i) => {
    progress.show(i + 1, missing.length);
    tables.make(object);
  });
  progress.clear();
}

function partOfFreeMemory(): number {
  return Math.floor(process.availableMemory() * PART_OF_FREE_MEMORY);
}

/** Returns undefined until the process has its memory. */
function markedProcess({ memory, counts }: MemoryWatch, pid: number): MarkedProcess | undefined {
  if (memory === undefined) return undefined;
  return {
    pid,
    marks: counts,
    start: () => Number(memory.start()),
    stackTop: () => memory.u64(Header.stackTop),
    maps: () => memory.maps(),
    objects: () => memory.objects(),
  };
}

function tryRealPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function endOf({ code, signal }: ProgramEnd): RunEnd {
  return signal === null ? { kind: "exit", exitCode: code ?? 0 } : { kind: "signal", signal };
}

function reachFacts(image: PlacedImage, tool: NativeTool | undefined, isForeign: boolean): ReachFacts {
  const ranges = (tool?.shadows ?? []).flatMap(({ address, bytes }) => [address, address + bytes]);
  const folders = [...new Set([image.folder, dirname(image.memoryOf(0))])];
  return { own: { image: image.path, folders, ranges }, isForeign };
}

class NativeRecording {
  readonly writer: ProfileWriter;
  #memoryLimit: number;
  /** True once the program's own profile is written (children's do not count). */
  isWritten = false;
  areChildrenRunning = false;
  readonly #run: NativeRun;
  readonly #children: WrittenChild[] = [];
  #image: PlacedImage | undefined;
  #reachFacts: ReachFacts | undefined;
  #watch: MemoryWatch | undefined;
  #rewritten: RewrittenRun | undefined;
  #workingSet: NativeWorkingSetSession | undefined;
  #over: EndedRecording | undefined;

  constructor(run: NativeRun) {
    this.#run = run;
    const { clock = "virtual", blocks = true, mappings = false } = run;
    const memoryLimit = run.memoryLimit ?? partOfFreeMemory();
    this.#memoryLimit = memoryLimit;
    const { noReach } = run;
    this.writer = new ProfileWriter({ clock, blocks, mappings, memoryLimit, noReach }, run.isQuiet);
  }

  get #isMarking(): boolean {
    return isMarking(this.#run.tool);
  }

  /** Sample rate. Intervals of the working set use the stacks of samples. */
  get #sampleHz(): number | undefined {
    return this.#run.sampleHz ?? (this.#isMarking ? STACKS_HZ : undefined);
  }

  async prepare(file: string, program: NativeProgram): Promise<RecordedProgram> {
    const { path, args, clock = "virtual", blocks = true, mappings = false } = this.#run;
    const { traceChildren: children = false } = this.#run;
    const sampleHz = this.#sampleHz;
    const objects = neededObjects(program);
    const { foreign: functions, notes } = findAllocator(objects);
    const foreign = children ? sharedWithChildren(functions) : functions;
    const isSampled = sampleHz !== undefined;
    const period = isSampled ? samplePeriod(sampleHz) : undefined;
    const { tool, isQuiet } = this.#run;
    const inserted = tool && nativeTool(tool.name, tool.options);
    // Reachability is computed only if blocks are recorded.
    const isLookedAt = this.#run.noReach !== true && blocks && inserted?.isWaste === undefined;
    const image = placeImage({
      isLookedAt,
      clock,
      blocks: blocks || inserted?.isOwned === true,
      mappings,
      children,
      foreign,
      isSampled,
      samplePeriod: period,
      tool: inserted,
      isCounting: tool !== undefined,
    });
    this.#image = image;
    if (isLookedAt) this.#reachFacts = reachFacts(image, inserted, foreign.size > 0);
    // Some file systems do not report their free room.
    const room = image.freeBytes() || Number.POSITIVE_INFINITY;
    this.#memoryLimit = Math.floor(Math.min(this.#memoryLimit, room * PART_OF_ROOM));
    this.writer.addOptions({ memoryLimit: this.#memoryLimit });
    // Samples may fall into the image's own code.
    const interrupted = isSampled ? [loadObject(image.path)] : [];
    // Rewriting ends before the program starts, so a lower limit does not apply to it.
    const memory = Math.max(this.#memoryLimit, partOfFreeMemory());
    if (tool !== undefined)
      this.#rewritten = await RewrittenRun.prepare(program, objects, tool, image, memory, isQuiet);
    const rewritten = this.#rewritten?.files ?? [];
    this.writer.addOptions({ rewritten });
    const replaced = new Set(rewritten.map(({ original }) => original));
    const plain = objects.filter(({ path }) => !replaced.has(tryRealPath(path)));
    const mapped = [...plain, ...rewritten.map(({ path }) => loadObject(path)), ...interrupted];
    makeTables(mapped, image.tables, isQuiet);
    return {
      command: [path, ...args],
      program: programName(path),
      file: resolve(file),
      notes,
      image: image.path,
      isLeftAlone: isGo(program.object),
      tool,
    };
  }

  /** Returns the folder of the program's memory if it may have been full. */
  get fullFolder(): string | undefined {
    return this.#image?.fullFolder();
  }

  /**
   * Returns true if the process has ended before the program began.
   * @throws UserError with the reason, unless the process has printed it
   */
  isRefused({ code, failure }: ProgramEnd): boolean {
    if (failure !== undefined) {
      const why = this.#rewritten?.problem(failure);
      throw new UserError(
        why ?? `${this.#run.path}: the system cannot start it: ${errorInWords(failure.error)}`,
      );
    }
    return this.#rewritten !== undefined && code === REFUSED && this.#watch?.memory === undefined;
  }

  async run(executed: ExecutedProgram, recorded: RecordedProgram, folders: RunFolders): Promise<ProgramEnd> {
    let dumps: Dumps | undefined;
    let isDumpAsked = false;
    // The program may report that it is ready before this process is.
    const askForDump = (): void => {
      isDumpAsked = true;
      dumps?.write();
    };
    const stopListening = onSignals({ SIGUSR2: askForDump });
    const image = this.#image!;
    const { pid, end } = await startProgram(executed, {
      folder: image.folder,
      enter: this.#rewritten?.enter,
      // Child processes would lack the memory of inserted code.
      otherwise: this.#run.traceChildren === true ? undefined : this.#rewritten?.otherwise,
      environment: { LD_PRELOAD: [image.path, programEnvironment().LD_PRELOAD].filter(Boolean).join(":") },
    });
    const { traceChildren, out, intervals, tool } = this.#run;
    const owners = tool?.options.isOwned === true;
    const sampleHz = this.#sampleHz;
    const makeSamples = () => (sampleHz === undefined ? undefined : new ProcessSamples(sampleHz, image.path));
    const children =
      traceChildren === true ? new ChildProcesses(image, pid, out, sampleHz, this.#reachFacts) : undefined;
    const copy = this.#rewritten?.otherwise ?? executed.file;
    const own = [launcherIn(image.folder), executed.file, copy].map(tryRealPath);
    const watch = new MemoryWatch(image, pid, children, makeSamples, {
      programs: own,
      looked: this.#reachFacts,
    });
    this.#watch = watch;
    watch.onTurn = () => this.#rewritten?.checkMapped(pid);
    const startWorkingSet = (): void => {
      if (intervals === undefined || !this.#isMarking) return;
      this.#workingSet?.drop();
      this.#workingSet = new NativeWorkingSetSession(intervals, { folder: image.folder, owners }, () =>
        markedProcess(watch, pid),
      );
    };
    startWorkingSet();
    watch.onReplaced = (replacing) => {
      Object.assign(recorded, replacing);
      startWorkingSet();
    };
    watch.limit = this.#memoryLimit;
    watch.onLimit = () => {
      this.#over = new EndedRecording(watch, this.writer, this.#memoryLimit);
      say(`${this.#over.line}: ${OVER}`);
      const keptBytes = tool === undefined ? 0 : usedCountsBytes(tool);
      this.#over.end(recorded, this.#workingSet, new FreedCounts(image.folder, keptBytes));
    };
    watch.onChild = (child) => {
      this.#rewritten?.addMapped(child.memory, child.program.file);
      const written = this.#over === undefined ? this.writer.child(child) : this.#over.child(child);
      if (written !== undefined) this.#children.push(written);
    };
    dumps = new Dumps(watch, recorded, folders, this.writer, () => this.#workingSet);
    if (isDumpAsked) dumps.write();
    const ended = await end.finally(stopListening);
    const ending = Number(process.hrtime.bigint());
    if (ended.startedOtherwise !== undefined)
      this.#rewritten?.startedOtherwise(ended.startedOtherwise, this.#run.isQuiet);
    await dumps.done;
    await this.#over?.done;
    await this.#workingSet?.finish(ending);
    return ended;
  }

  /** Writes the recorded profiles, those of children first. */
  async write(target: ProfileTarget, recorded: RecordedProgram, end: RunEnd): Promise<void> {
    const { path, traceChildren, isQuiet } = this.#run;
    const over = this.#over;
    const data = over === undefined ? this.#watch?.readAtEnd(end) : undefined;
    this.areChildrenRunning = (await this.#watch?.takeChildren()) ?? false;
    if (this.#watch?.memory !== undefined) this.#rewritten?.addMapped(this.#watch.memory);
    const notes = this.#rewritten?.report(isQuiet);
    const children = traceChildren === true ? this.#children.map(({ child }) => child) : undefined;
    if (over !== undefined) this.isWritten = over.write(target, { end, children }, notes ?? []) !== undefined;
    else if (data === undefined) say(`${path} ${NOT_RECORDED}`);
    else {
      this.writer.addOptions({ notCounted: notes });
      const allData = { ...data, workingSet: this.#workingSet };
      const run = this.writer.write(target, allData, recorded, { end, children });
      this.isWritten = run !== undefined;
      const unseen = unseenChildren(recorded.program, run?.heap?.allocatedBytes, data.childFaults);
      if (isQuiet !== true && children === undefined)
        for (const sentence of unseen) say(sentence.slice(0, -1));
    }
    this.#rewritten?.reportRead(this.writer.readAsData);
    const unrecorded = this.#watch?.unrecorded ?? 0;
    if (unrecorded > 0)
      say(`${counted(unrecorded, "child process", "child processes")} could not be recorded: ${NO_MEMORY}`);
    if (isQuiet !== true) for (const line of childLines(this.#children)) say(line);
  }

  close(): void {
    this.#over?.close();
    this.#watch?.stop();
    this.#image?.remove(this.areChildrenRunning);
  }
}
