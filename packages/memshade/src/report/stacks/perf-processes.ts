import type { PerfFork, PerfMapping, PerfName } from "../../formats/perf-data/index.ts";
import type { ProcessArchitecture } from "../../model/process-image.ts";
import { ModuleMap, PlaceCache, Unwinder, type UnwindOptions } from "../../unwind/index.ts";
import { MappedModule, NativeFile, type ObjectSource } from "./native-file.ts";

/** Processes of the kernel and of nobody, in perf.data. */
const KERNEL = -1;

/** A process at one point of time. */
export class PerfProcess {
  readonly unwinder: Unwinder;
  readonly places: PlaceCache;

  constructor(architecture: ProcessArchitecture, options: UnwindOptions, modules = new ModuleMap()) {
    this.unwinder = new Unwinder(architecture, options, modules);
    this.places = new PlaceCache(modules);
  }

  map(module: MappedModule): void {
    this.unwinder.modules.add(module);
    this.places.clear();
  }
}

/** The processes of a recording: what is mapped in them and what their threads are called, at this point of time. */
export class PerfProcesses {
  readonly #architecture: ProcessArchitecture;
  readonly #objects: ObjectSource;
  readonly #options: UnwindOptions;
  readonly #processes = new Map<number, PerfProcess>();
  readonly #names = new Map<number, string>();
  readonly #files = new Map<string, NativeFile>();

  constructor(architecture: ProcessArchitecture, objects: ObjectSource, options: UnwindOptions) {
    this.#architecture = architecture;
    this.#options = options;
    this.#objects = objects;
  }

  /** All files that were mapped so far. */
  get files(): Iterable<NativeFile> {
    return this.#files.values();
  }

  process(pid: number): PerfProcess {
    let process = this.#processes.get(pid);
    if (process === undefined) {
      process = new PerfProcess(this.#architecture, this.#options);
      this.#processes.set(pid, process);
    }
    return process;
  }

  /** The name of a thread; as perf says it, if it never had one. */
  nameOf(tid: number): string {
    return this.#names.get(tid) ?? `:${tid}`;
  }

  map({ pid, start, length, fileOffset, path, buildId }: PerfMapping): void {
    if (pid === KERNEL || length <= 0) return;
    const key = `${buildId ?? ""} ${path}`;
    let file = this.#files.get(key);
    if (file === undefined) {
      file = new NativeFile(path, buildId, this.#objects);
      this.#files.set(key, file);
    }
    this.process(pid).map(new MappedModule(file, start, start + length, fileOffset));
  }

  rename({ pid, tid, name, isExec }: PerfName): void {
    this.#names.set(tid, name);
    if (isExec) this.#processes.delete(pid);
  }

  fork({ pid, parentPid, tid, parentTid }: PerfFork): void {
    const name = this.#names.get(parentTid);
    if (name !== undefined) this.#names.set(tid, name);
    if (pid === parentPid) return;
    const modules = new ModuleMap();
    for (const module of this.#processes.get(parentPid)?.unwinder.modules.all ?? []) modules.add(module);
    this.#processes.set(pid, new PerfProcess(this.#architecture, this.#options, modules));
  }
}
