import {
  ModuleMap,
  Unwinder,
  type UnwindOptions,
  type UnwindTarget,
  unwindTarget,
} from "../../../code/unwind/index.ts";
import type { PerfFork, PerfMapping, PerfName } from "../../../profile/formats/perf-data/index.ts";
import type { ProcessArchitecture } from "../../../profile/model/process-image.ts";
import { type MappedModule, NativeFile, type ObjectSource } from "../native-file.ts";
import type { KernelText } from "./kernel-symbols.ts";

/** How a recording names the kernel, and which of its symbols it says the address of. */
const KERNEL_TEXT = /^\[kernel\.kallsyms\](\w+)$/;

/** Processes that are ready for walks at a time; recordings of a whole machine have thousands. */
const MOST_READY = 8;

/** A process as the unwinder wants it. */
export class PerfProcess {
  readonly modules = new ModuleMap<MappedModule>();
  /** The version of what is mapped in it that `modules` has. */
  version = -1;
  readonly #make: (modules: ModuleMap) => Unwinder;
  #unwinder: Unwinder | undefined;

  constructor(make: (modules: ModuleMap) => Unwinder) {
    this.#make = make;
  }

  get unwinder(): Unwinder {
    this.#unwinder ??= this.#make(this.modules);
    return this.#unwinder;
  }

  /** Gives memory back until the next walk. */
  rest(): void {
    this.#unwinder = undefined;
  }
}

/** The processes of a recording: which files they map and what their threads are called, at this point of time. */
export class PerfProcesses {
  /** Where the kernel was, if the recording says it. */
  kernelText: KernelText | undefined;
  readonly target: UnwindTarget;
  readonly #architecture: ProcessArchitecture;
  readonly #objects: ObjectSource;
  readonly #options: UnwindOptions;
  readonly #processes = new Map<number, PerfProcess>();
  readonly #names = new Map<number, string>();
  readonly #files: NativeFile[] = [];
  readonly #fileNumbers = new Map<string, number>();
  /** Those that were asked for last, the latest one at the end. */
  readonly #ready: PerfProcess[] = [];

  constructor(architecture: ProcessArchitecture, objects: ObjectSource, options: UnwindOptions) {
    this.#architecture = architecture;
    this.target = unwindTarget(architecture)!;
    this.#options = options;
    this.#objects = objects;
  }

  /** All files that were mapped so far, by their numbers. */
  get files(): readonly NativeFile[] {
    return this.#files;
  }

  /** The number of a file that a mapping names. */
  numberOfFile(path: string, buildId: string | undefined): number {
    const key = `${buildId ?? ""} ${path}`;
    let number = this.#fileNumbers.get(key);
    if (number === undefined) {
      number = this.#files.push(new NativeFile(path, buildId, this.#objects)) - 1;
      this.#fileNumbers.set(key, number);
    }
    return number;
  }

  process(pid: number): PerfProcess {
    let process = this.#processes.get(pid);
    if (process === undefined) {
      process = new PerfProcess((own) => new Unwinder(this.#architecture, this.#options, own));
      this.#processes.set(pid, process);
    }
    if (this.#ready.at(-1) === process) return process;
    const at = this.#ready.indexOf(process);
    if (at >= 0) this.#ready.splice(at, 1);
    this.#ready.push(process);
    if (this.#ready.length > MOST_READY) this.#ready.shift()?.rest();
    return process;
  }

  /** The name of a thread; as perf says it, if it never had one. */
  nameOf(tid: number): string {
    return this.#names.get(tid) ?? `:${tid}`;
  }

  /** Takes a mapping of the kernel. */
  mapKernel({ path, fileOffset }: PerfMapping): void {
    const [, symbol] = KERNEL_TEXT.exec(path) ?? [];
    // Rounded, but such addresses are multiples of more than what is lost.
    if (symbol !== undefined) this.kernelText = { symbol, address: fileOffset - 2 ** 64 };
  }

  rename({ tid, name }: PerfName): void {
    this.#names.set(tid, name);
  }

  fork({ tid, parentTid }: PerfFork): void {
    const name = this.#names.get(parentTid);
    if (name !== undefined) this.#names.set(tid, name);
  }
}
