import { type Bound, unseenBounds } from "../../../profile/model/bound.ts";
import {
  RUN_FILE,
  type Run,
  type RunEnd,
  type RunInstances,
  type RunModule,
} from "../../../profile/model/run.ts";
import { assembleRun, filesOfParts, type ProfileFile } from "../../tools/assemble-run.ts";
import { HEAP_FILE } from "../../tools/heap/read/heap-session.ts";
import {
  type DescribeHostFrame,
  HostCallers,
  type ToldStacks,
  withoutStart,
} from "../../tools/heap/read/host-callers.ts";
import type { KnownReach, LookThrough } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import { RecordedModules } from "../../tools/recorded-modules.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import type { InstanceHandle, LinesOf, SharedPlace, ToolSession, TypesOf } from "../../tools/session.ts";
import { sessionsOf } from "../../tools/sessions.ts";
import type { ModuleRuns } from "../../tools/waste/read/site-runs.ts";
import { furtherMemories, type ShadowMemories } from "../instance/host-calls.ts";

/** An instance of a module, or several that are gone, by the number that its thread has for the stack that made it. */
interface Made {
  readonly module: number;
  readonly thread: number;
  readonly stack: number;
  /** Of its memory, where it was found to be there still; undefined: it is not, or nobody knows. */
  bytes: number | undefined;
  count: number;
}

/** Who has made the instances of modules, and how many of them are there when a profile is taken. */
export class KeptInstances {
  readonly #callers = new HostCallers();
  readonly #made = new Map<number, Made>();
  /** How many of those that a stack has made are gone; the key has module, thread and stack. */
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

  /** What a thread has found of its instances; of those that it does not name, none is there. */
  keep(thread: number, kept: readonly { readonly number: number; readonly bytes: number }[]): void {
    this.#isKnown.add(thread);
    for (const made of this.#made.values()) if (made.thread === thread) made.bytes = undefined;
    for (const { number, bytes } of kept) {
      const made = this.#made.get(number);
      if (made !== undefined) made.bytes = bytes;
    }
  }

  /** The modules with what is known of their instances. */
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

/** What was recorded: the description of the run and the raw MemProf profile. */
export interface Profile {
  run: Run;
  /** LLVM raw memory profile, the bytes of `heap.memprofraw`; none if no tool with blocks recorded. */
  raw: Uint8Array;
  /** Files of the other tools, and the heap over time, as `run.files` names them. */
  toolFiles: ProfileFile[];
  /** How often what is in the modules ran, as far as a tool tells; no part of the run folder. */
  siteRuns: ModuleRuns[];
  /** Sentences for whoever ran the program: what the tools kept from working. They are part of the tools' files. */
  warnings: string[];
}

export type { ProfileFile };

/** What a run folder is made of. */
export type RecordedFiles = Pick<Profile, "run" | "raw" | "toolFiles">;

export interface RecorderOptions {
  tools: ToolOptions;
  /** The program and its arguments, without memshade and its options. */
  command: readonly string[];
  /** Short name of the program. */
  program: string;
  /** Functions of WASI tell the instances what they read: see `observeImports`. */
  observesHost?: boolean;
  /** Reads debug information, for tools that write lines. */
  linesOf?: LinesOf;
  typesOf?: TypesOf;
  /** Reads scripts, for those who want to know where the calls of the host were written. */
  describeFrame?: DescribeHostFrame | undefined;
}

/** Stands for the bytes of a module that nobody has kept: its functions stay without names. */
export const UNKNOWN_MODULE: Uint8Array = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

/** One recorded run: instances come and go, profiles are taken at any time. Knows nothing of files and processes. */
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
   * @param memories those of the tools that found something to record in it.
   * @param original the bytes of the module before instrumentation, or a function that is asked for them when a
   *   profile is taken.
   * @param place says which other instances have the same tables for blocks.
   * @param thread the one that runs it, as `learnStacks` names it.
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

  /** A thread tells of stacks of its own that have entered instances. */
  learnStacks(thread: number, told: ToldStacks): void {
    this.#kept.learnStacks(thread, told);
    for (const session of this.#sessions) session.learnStacks?.(thread, told);
  }

  /** The stack of a thread that has made an instance. */
  addMaker(handle: InstanceHandle, thread: number, stack: number): void {
    this.#kept.add(handle, thread, stack);
  }

  /** An instance whose maker is known is gone. */
  drop(instance: number): void {
    this.#kept.drop(instance);
  }

  /** Which instances of a thread are still there. */
  keep(...found: Parameters<KeptInstances["keep"]>): void {
    this.#kept.keep(...found);
  }

  /** What was found in the thread of an instance about its live blocks: for the next profile. */
  setReach(handle: InstanceHandle, reach: KnownReach | undefined): void {
    for (const session of this.#sessions) session.setReach?.(handle, reach);
  }

  /** The profile that it was found for has been taken. */
  forgetReach(): void {
    for (const session of this.#sessions) session.forgetReach?.();
  }

  /** How that is found when a profile is taken, for instances of this thread. */
  setLook(handle: InstanceHandle, look: LookThrough): void {
    for (const session of this.#sessions) session.setLook?.(handle, look);
  }

  /** The instance is gone: its figures are kept, its memory is not. */
  releaseInstance(handle: InstanceHandle): void {
    this.#modules.release(handle);
    for (const session of this.#sessions) session.releaseInstance(handle);
  }

  /** Whether tables that instances share are still in use. */
  isShared(group: string): boolean {
    return this.#modules.isShared(group);
  }

  /** To be called some times a second while programs run in other threads, see `watchCounters`. */
  watch(isLate: boolean): void {
    for (const session of this.#sessions) session.watch?.(isLate);
  }

  /** The tables of an instance are full: takes over what they hold. */
  flush(handle: InstanceHandle): void {
    for (const session of this.#sessions) session.flush?.(handle);
  }

  /**
   * Adds a sentence about something that this run does not track. Repeated sentences are kept once.
   *
   * @param isMissing whether figures lack it, so that limits cannot be decided by them
   */
  note(sentence: string, isMissing = false): void {
    if (this.#notes.includes(sentence)) return;
    this.#notes.push(sentence);
    if (isMissing) this.#missing.push(...unseenBounds(sentence));
  }

  /** Forgets what was recorded so far. Blocks that are live now stay known and are part of the next profile. */
  reset(): void {
    for (const session of this.#sessions) session.reset();
  }

  /** The profile up to now. Changes nothing, so that it can be taken while the program runs. */
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

  /** If nobody named a tool, only those have a part that found something to record, or the first one. */
  #sessionsWithParts(): readonly ToolSession[] {
    if (this.#options.tools.tools !== undefined) return this.#sessions;
    const filled = this.#sessions.filter(({ isEmpty }) => isEmpty !== true);
    return filled.length > 0 ? filled : this.#sessions.slice(0, 1);
  }
}

/** The files that stand for a profile in a run folder; `run.json` comes last, so that it vouches for the others. */
export function profileFiles(profile: RecordedFiles): ProfileFile[] {
  return [
    ...(profile.run.files.heap === undefined ? [] : [{ name: HEAP_FILE, contents: profile.raw }]),
    ...profile.toolFiles,
    { name: RUN_FILE, contents: `${JSON.stringify(profile.run, null, 2)}\n` },
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
