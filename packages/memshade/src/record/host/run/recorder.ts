import { type Bound, unseenBounds } from "../../../profile/model/bound.ts";
import {
  RUN_FILE,
  type Run,
  type RunEnd,
  type RunInstances,
  type RunModule,
} from "../../../profile/model/run.ts";
import { runText } from "../../../profile/model/run-text.ts";
import { assembleRun, filesOfParts, type ProfileFile } from "../../tools/assemble-run.ts";
import { HEAP_FILE } from "../../tools/heap/read/heap-session.ts";
import {
  type DescribeHostFrame,
  HostCallers,
  type ToldStacks,
  withoutStart,
} from "../../tools/heap/read/host-callers.ts";
import type { KnownReach, ReachSearch } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import { RecordedModules } from "../../tools/recorded-modules.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import type { InstanceHandle, LinesOf, SharedPlace, ToolSession, TypesOf } from "../../tools/session.ts";
import { sessionsOf } from "../../tools/sessions.ts";
import type { ModuleRuns } from "../../tools/waste/read/site-runs.ts";
import { furtherMemories, type ShadowMemories } from "../instance/host-calls.ts";

/**
 * A single instance, or all instances that are gone, of one module, thread and stack. `stack`: the thread's number for the
 * stack that made them.
 */
interface Made {
  readonly module: number;
  readonly thread: number;
  readonly stack: number;
  /** Size of the instance's memory if the instance was found alive; undefined if it is gone or was not checked. */
  bytes: number | undefined;
  count: number;
}

/** Stacks that have made the instances of modules, and the number of instances alive when a profile is taken. */
export class KeptInstances {
  readonly #callers = new HostCallers();
  readonly #made = new Map<number, Made>();
  /** Numbers of instances that are gone. The key is module, thread and stack. */
  readonly #dropped = new Map<string, Made>();
  readonly #isKnown = new Set<number>();

  learnStacks(thread: number, told: ToldStacks): void {
    this.#callers.learn(thread, told);
  }

  add({ number, module }: InstanceHandle, thread: number, stack: number): void {
    this.#made.set(number, { module, thread, stack, bytes: undefined, count: 1 });
  }

  drop(instance: number): void {
    const made = this.#made.get(instance);
    if (made === undefined) return;
    this.#made.delete(instance);
    const known = this.#dropped.get(keyOf(made));
    if (known === undefined) this.#dropped.set(keyOf(made), { ...made, bytes: undefined });
    else known.count++;
  }

  /** Sets the instances that a thread has found alive. Its other instances are gone. */
  keep(thread: number, kept: readonly { readonly number: number; readonly bytes: number }[]): void {
    this.#isKnown.add(thread);
    for (const made of this.#made.values()) if (made.thread === thread) made.bytes = undefined;
    for (const { number, bytes } of kept) {
      const made = this.#made.get(number);
      if (made !== undefined) made.bytes = bytes;
    }
  }

  /** Returns the modules with the stacks that made their instances. */
  within(modules: readonly RunModule[], describe: DescribeHostFrame = withoutStart): RunModule[] {
    const groups = new Map<string, RunInstances & { readonly module: number }>();
    for (const one of [...this.#made.values(), ...this.#dropped.values()]) {
      const { module, thread, stack, bytes } = one;
      if (!this.#isKnown.has(thread)) continue;
      let group = groups.get(keyOf(one));
      if (group === undefined) {
        const frames = this.#callers.framesOfTold(thread, stack).map(describe);
        if (frames.length === 0) continue;
        group = { module, frames, thread, made: 0, kept: 0, keptBytes: 0 };
        groups.set(keyOf(one), group);
      }
      group.made += one.count;
      if (bytes === undefined) continue;
      group.kept++;
      group.keptBytes += bytes;
    }
    return modules.map((module) => {
      const own = [...groups.values()].filter((group) => group.module === module.index && group.made > 1);
      const instancesBy = own.map(({ module: _, ...group }): RunInstances => group);
      return instancesBy.length === 0 ? module : { ...module, instancesBy };
    });
  }
}

function keyOf({ module, thread, stack }: Made): string {
  return `${module} ${thread} ${stack}`;
}

/** A recorded profile: the description of the run, the raw MemProf profile and further files. */
export interface Profile {
  run: Run;
  /** LLVM raw memory profile, the bytes of `heap.memprofraw`; none if no tool with blocks recorded. */
  raw: Uint8Array;
  /** Files of the other tools, and the heap over time, as `run.files` names them. */
  toolFiles: ProfileFile[];
  /** Execution counts of sites in the modules, if a tool records them. Not part of the run folder. */
  siteRuns: ModuleRuns[];
  /**
   * Sentences for the user who ran the program: functions that the tools kept from working. The tools' files contain them.
   */
  warnings: string[];
}

export type { ProfileFile };

/** The parts of a profile that a run folder contains. */
export type RecordedFiles = Pick<Profile, "run" | "raw" | "toolFiles">;

export interface RecorderOptions {
  tools: ToolOptions;
  /** The program and its arguments, without memshade and its options. */
  command: readonly string[];
  /** Short name of the program. */
  program: string;
  /** True if functions of WASI report to the instances which memory they read: see `observeImports`. */
  observesHost?: boolean;
  /** Reads debug information, for tools that write lines. */
  linesOf?: LinesOf;
  typesOf?: TypesOf;
  /** Reads scripts, to find where calls of the host were written. */
  describeFrame?: DescribeHostFrame | undefined;
}

/** Placeholder for the bytes of a module that were not kept: its functions have no names. */
export const UNKNOWN_MODULE: Uint8Array = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

/**
 * Recorder of a run. Instances are added and released, and profiles can be taken at any time. Files and processes are
 * handled elsewhere.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #sessions: readonly ToolSession[];
  readonly #modules = new RecordedModules();
  readonly #notes: string[] = [];
  readonly #missing: Bound[] = [];
  readonly #kept = new KeptInstances();

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#sessions = sessionsOf(options.tools, options.observesHost);
  }

  /** Instances added so far, released ones included. */
  get instanceCount(): number {
    return this.#modules.instanceCount;
  }

  /**
   * Starts to record an instance by its shadow memories.
   *
   * @param memories the memories of the tools that found something to record in it.
   * @param original the bytes of the module before instrumentation, or a function that returns them when a profile is taken.
   * @param place identifies the instances that share its tables for blocks.
   * @param thread number of the thread that runs it, as in `learnStacks`.
   */
  addInstance(
    memories: ShadowMemories,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
    path: string | null,
    place?: SharedPlace,
    thread = 0,
  ): InstanceHandle {
    const handle = this.#modules.add(info, original, path, place, thread);
    for (const session of this.#sessions) {
      const memory = memories[session.tool];
      if (memory !== undefined)
        session.addInstance(handle, memory, info, original, furtherMemories(memories, session.tool));
    }
    return handle;
  }

  /** Adds stacks of a thread that have entered instances. */
  learnStacks(thread: number, told: ToldStacks): void {
    this.#kept.learnStacks(thread, told);
    for (const session of this.#sessions) session.learnStacks?.(thread, told);
  }

  /** Records the stack of a thread that has made an instance. */
  addMaker(handle: InstanceHandle, thread: number, stack: number): void {
    this.#kept.add(handle, thread, stack);
  }

  /** Records that an instance is gone whose maker was recorded. */
  drop(instance: number): void {
    this.#kept.drop(instance);
  }

  /** Sets which instances of a thread are still alive. */
  keep(...found: Parameters<KeptInstances["keep"]>): void {
    this.#kept.keep(...found);
  }

  /** Sets the reachability of an instance's live blocks for the next profile. Its thread has determined it. */
  setReach(handle: InstanceHandle, reach: KnownReach | undefined): void {
    for (const session of this.#sessions) session.setReach?.(handle, reach);
  }

  /** Discards the reachability results of a profile that has been taken. */
  forgetReach(): void {
    for (const session of this.#sessions) session.forgetReach?.();
  }

  /** Sets the function that finds reachable blocks when a profile is taken, for an instance of this thread. */
  setReachSearch(handle: InstanceHandle, search: ReachSearch): void {
    for (const session of this.#sessions) session.setReachSearch?.(handle, search);
  }

  /** Releases an instance: its figures are kept, its memory is not. */
  releaseInstance(handle: InstanceHandle): void {
    this.#modules.release(handle);
    for (const session of this.#sessions) session.releaseInstance(handle);
  }

  /** True while a live instance uses the shared tables of this name. */
  isShared(group: string): boolean {
    return this.#modules.isShared(group);
  }

  /**
   * Reads counters before they wrap. Call it several times a second while programs run in other threads, see
   * `watchCounters`.
   */
  watch(isLate: boolean): void {
    for (const session of this.#sessions) session.watch?.(isLate);
  }

  /** Takes over the contents of an instance's full tables. */
  flush(handle: InstanceHandle): void {
    for (const session of this.#sessions) session.flush?.(handle);
  }

  /**
   * Adds a sentence about something that this run does not track. Repeated sentences are kept once.
   *
   * @param isMissing true if figures lack it, so that limits cannot be decided by them
   */
  note(sentence: string, isMissing = false): void {
    if (this.#notes.includes(sentence)) return;
    this.#notes.push(sentence);
    if (isMissing) this.#missing.push(...unseenBounds(sentence));
  }

  /** Discards the figures so far. Blocks that are live now stay recorded and are part of the next profile. */
  reset(): void {
    for (const session of this.#sessions) session.reset();
  }

  /** Returns the profile so far. Changes nothing, so that a profile can be taken while the program runs. */
  takeProfile(end: RunEnd): Profile {
    const { command, program, linesOf, typesOf, describeFrame } = this.#options;
    const recorded = this.#modules.all;
    let modules = this.#modules.describe();
    const snapshots = this.#sessionsWithParts().map((session) => {
      const facts = { command, modules, recorded, linesOf, typesOf, describeFrame };
      const snapshot = session.snapshot(end, facts);
      modules = modules.map((module, index) => ({ ...module, ...snapshot.found?.[index] }));
      return { tool: session.tool, ...snapshot };
    });
    const parts = snapshots.map(({ tool, description, heap, files, shadowBytes, bounds = [] }) => ({
      tools: { [tool]: description },
      heap,
      files,
      shadowBytes,
      bounds,
    }));
    const run = assembleRun(
      {
        command: [...command],
        program,
        end,
        modules: this.#kept.within(modules, describeFrame),
        notTracked: [...this.#notes, ...snapshots.flatMap(({ keptBack }) => keptBack ?? [])],
        bounds: this.#missing,
        rewrittenBytes: this.#modules.rewrittenBytes,
      },
      parts,
    );
    const files = filesOfParts(parts);
    const raw = files.find(({ name }) => name === HEAP_FILE)?.contents;
    return {
      run,
      raw: raw instanceof Uint8Array ? raw : new Uint8Array(),
      toolFiles: files.filter(({ name }) => name !== HEAP_FILE),
      siteRuns: snapshots.flatMap(({ siteRuns }) => siteRuns ?? []),
      warnings: snapshots.flatMap(({ warnings }) => warnings ?? []),
    };
  }

  /** If the user chose no tool, only tools that found something to record have a part, or else the first tool. */
  #sessionsWithParts(): readonly ToolSession[] {
    if (this.#options.tools.tools !== undefined) return this.#sessions;
    const filled = this.#sessions.filter(({ isEmpty }) => isEmpty !== true);
    return filled.length > 0 ? filled : this.#sessions.slice(0, 1);
  }
}

/** Returns the files of a profile in a run folder. `run.json` comes last: once it exists, the other files are complete. */
export function profileFiles(profile: RecordedFiles): ProfileFile[] {
  return [
    ...(profile.run.files.heap === undefined ? [] : [{ name: HEAP_FILE, contents: profile.raw }]),
    ...profile.toolFiles,
    { name: RUN_FILE, contents: runText(profile.run) },
  ];
}

const LOOK_EVERY_MS = 200;
/** Time in which a counter may have wrapped twice. */
const LATE_MS = 1000;

/**
 * Checks the counters of static data periodically while programs run in other threads, so that no wrap is missed:
 * 2,147,483,648 accesses to 8 bytes take longer than the pause between two checks. Returns a function that stops it.
 */
export function watchCounters(recorder: Recorder): () => void {
  let last = performance.now();
  const check = (): void => {
    const now = performance.now();
    recorder.watch(now - last > LATE_MS);
    last = performance.now();
  };
  check();
  const timer = setInterval(check, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
