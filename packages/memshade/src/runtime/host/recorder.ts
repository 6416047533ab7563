import type { InstrumentedInfo } from "../../instrument/index.ts";
import type { Run, RunEnd } from "../../model/run.ts";
import { RUN_SCHEMA, RUN_VERSION } from "../../model/run.ts";
import { type HeapOptions, toSessionOptions } from "./heap-options.ts";
import { HeapSession, type InstanceHandle } from "./heap-session.ts";
import { MEMSHADE_VERSION } from "./version.ts";

/** Names of the files of a run, as `run.json` refers to them. */
export const RUN_FILE = "run.json";
export const HEAP_FILE = "heap.memprofraw";

/** What was recorded: the description of the run and the raw MemProf profile. */
export interface Profile {
  run: Run;
  /** LLVM raw memory profile, the bytes of `heap.memprofraw`. */
  raw: Uint8Array;
}

/** One file of a run folder. */
export interface ProfileFile {
  name: string;
  contents: string | Uint8Array;
}

export interface RecorderOptions {
  heap: HeapOptions;
  /** The program and its arguments, without memshade and its options. */
  command: readonly string[];
  /** Short name of the program. */
  program: string;
}

/** Stands for the shadow memory of modules that have none. */
const NO_MEMORY = new WebAssembly.Memory({ initial: 0, maximum: 0 });

/** Stands for the bytes of a module that nobody has kept: its functions stay without names. */
export const UNKNOWN_MODULE: Uint8Array = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

/** One recorded run: instances come and go, profiles are taken at any time. Knows nothing of files and processes. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #session: HeapSession;
  readonly #notes: string[] = [];
  #instances = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#session = new HeapSession(toSessionOptions(options.heap));
  }

  /** Instances added so far, released ones included. */
  get instanceCount(): number {
    return this.#instances;
  }

  /**
   * Starts to record an instance by its shadow memory.
   *
   * @param memory undefined when the module was left alone because nothing in it can be recorded.
   * @param original the bytes of the module before instrumentation, or a function that is asked for them when a
   *   profile is taken.
   */
  addInstance(
    memory: WebAssembly.Memory | undefined,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
    path: string | null,
  ): InstanceHandle {
    this.#instances++;
    return this.#session.addInstance(memory ?? NO_MEMORY, info, original, path);
  }

  /** The instance is gone: its figures are kept, its memory is not. */
  releaseInstance(handle: InstanceHandle): void {
    this.#session.releaseInstance(handle);
  }

  /** The tables of an instance are full: takes over what they hold. */
  flush(handle: InstanceHandle): void {
    this.#session.flush(handle);
  }

  /** Adds a sentence about something that this run does not track. Repeated sentences are kept once. */
  note(sentence: string): void {
    if (!this.#notes.includes(sentence)) this.#notes.push(sentence);
  }

  /** Forgets what was recorded so far. Blocks that are live now stay known and are part of the next profile. */
  reset(): void {
    this.#session.reset();
  }

  /** The profile up to now. Changes nothing, so that it can be taken while the program runs. */
  takeProfile(end: RunEnd): Profile {
    const { heap, modules, tool, notTracked, raw } = this.#session.snapshot(end);
    const run: Run = {
      schema: RUN_SCHEMA,
      version: RUN_VERSION,
      memshade: MEMSHADE_VERSION,
      command: [...this.#options.command],
      program: this.#options.program,
      tools: { heap: tool },
      end,
      modules,
      heap,
      notTracked: [...notTracked, ...this.#notes],
      files: { heap: HEAP_FILE },
    };
    return { run, raw };
  }
}

/** The files that stand for a profile in a run folder; `run.json` comes last, so that it vouches for the others. */
export function profileFiles(profile: Profile): ProfileFile[] {
  return [
    { name: HEAP_FILE, contents: profile.raw },
    { name: RUN_FILE, contents: `${JSON.stringify(profile.run, null, 2)}\n` },
  ];
}
