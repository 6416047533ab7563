import type { PerfFork, PerfMapping, PerfName } from "../../formats/perf-data/index.ts";
import type { ProcessArchitecture } from "../../model/process-image.ts";
import {
  ModuleMap,
  Unwinder,
  type UnwindOptions,
  type UnwindTarget,
  unwindTarget,
} from "../../unwind/index.ts";
import type { KernelText } from "./kernel-symbols.ts";
import { MappedModule, NativeFile, type ObjectSource } from "./native-file.ts";
import type { ProcessMemory } from "./process-memory.ts";

/** Processes of the kernel and of nobody, in perf.data. */
const KERNEL = -1;

/** How a recording names the kernel, and which of its symbols it says the address of. */
const KERNEL_TEXT = /^\[kernel\.kallsyms\](\w+)$/;

/** Processes that are ready for walks at a time; recordings of a whole machine have thousands. */
const MOST_READY = 8;

/** A process at one point of time. */
export class PerfProcess {
  readonly modules: ModuleMap<MappedModule>;
  /** What `ProcessMemory` keeps of it: where, for how many mappings, and whether they are other ones by now. */
  address = 0;
  capacity = 0;
  epoch = 0;
  hasChanged = true;
  readonly #make: (modules: ModuleMap) => Unwinder;
  #unwinder: Unwinder | undefined;

  constructor(modules: ModuleMap<MappedModule>, make: (modules: ModuleMap) => Unwinder) {
    this.modules = modules;
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

/** The processes of a recording: what is mapped in them and what their threads are called, at this point of time. */
export class PerfProcesses {
  /** Where the kernel was, if the recording says it. */
  kernelText: KernelText | undefined;
  /** What is to be told of changes. */
  memory: ProcessMemory | undefined;
  readonly target: UnwindTarget;
  readonly #architecture: ProcessArchitecture;
  readonly #objects: ObjectSource;
  readonly #options: UnwindOptions;
  readonly #processes = new Map<number, PerfProcess>();
  readonly #names = new Map<number, string>();
  readonly #files = new Map<string, NativeFile>();
  /** Those that were asked for last, the latest one at the end. */
  readonly #ready: PerfProcess[] = [];

  constructor(architecture: ProcessArchitecture, objects: ObjectSource, options: UnwindOptions) {
    this.#architecture = architecture;
    this.target = unwindTarget(architecture)!;
    this.#options = options;
    this.#objects = objects;
  }

  /** All files that were mapped so far. */
  get files(): Iterable<NativeFile> {
    return this.#files.values();
  }

  /** A process that is to be walked. */
  process(pid: number): PerfProcess {
    const process = this.#known(pid);
    if (this.#ready.at(-1) === process) return process;
    const at = this.#ready.indexOf(process);
    if (at >= 0) this.#ready.splice(at, 1);
    this.#ready.push(process);
    if (this.#ready.length > MOST_READY) this.#ready.shift()?.rest();
    return process;
  }

  #known(pid: number): PerfProcess {
    let process = this.#processes.get(pid);
    if (process === undefined) {
      process = this.#newProcess(new ModuleMap<MappedModule>());
      this.#processes.set(pid, process);
    }
    return process;
  }

  #newProcess(modules: ModuleMap<MappedModule>): PerfProcess {
    return new PerfProcess(modules, (own) => new Unwinder(this.#architecture, this.#options, own));
  }

  /** The name of a thread; as perf says it, if it never had one. */
  nameOf(tid: number): string {
    return this.#names.get(tid) ?? `:${tid}`;
  }

  map({ pid, start, length, fileOffset, path, buildId }: PerfMapping): void {
    if (pid === KERNEL) {
      const [, symbol] = KERNEL_TEXT.exec(path) ?? [];
      // Rounded, but such addresses are multiples of more than what is lost.
      if (symbol !== undefined) this.kernelText = { symbol, address: fileOffset - 2 ** 64 };
    }
    if (pid === KERNEL || length <= 0) return;
    const key = `${buildId ?? ""} ${path}`;
    let file = this.#files.get(key);
    if (file === undefined) {
      file = new NativeFile(path, buildId, this.#objects);
      this.#files.set(key, file);
    }
    const process = this.#known(pid);
    process.modules.add(new MappedModule(file, start, start + length, fileOffset));
    this.memory?.change(pid, process, start, start + length);
  }

  rename({ pid, tid, name, isExec }: PerfName): void {
    this.#names.set(tid, name);
    if (isExec) this.#forget(pid);
  }

  #forget(pid: number): void {
    const process = this.#processes.get(pid);
    if (process === undefined) return;
    this.#processes.delete(pid);
    const at = this.#ready.indexOf(process);
    if (at >= 0) this.#ready.splice(at, 1);
    this.memory?.free(pid, process);
  }

  fork({ pid, parentPid, tid, parentTid }: PerfFork): void {
    const name = this.#names.get(parentTid);
    if (name !== undefined) this.#names.set(tid, name);
    if (pid === parentPid) return;
    const modules = new ModuleMap<MappedModule>();
    for (const module of this.#processes.get(parentPid)?.modules.all ?? []) modules.add(module);
    this.#forget(pid);
    this.#processes.set(pid, this.#newProcess(modules));
  }
}
