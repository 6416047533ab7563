import { existsSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { counted } from "../../../profile/model/counted.ts";
import type { CpuSamples } from "../../../profile/model/cpu.ts";
import { isProcess } from "../../host/run/process-identity.ts";
import {
  defaultOutTemplate,
  expandOutTemplate,
  hasPlaceHolder,
  programName,
} from "../../host/run/run-folder.ts";
import { Control } from "../../tools/heap/layout.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { PlacedImage } from "../image/place-image.ts";
import { Header, Place } from "../layout.ts";
import { EndLook, STILL_GOES_ON } from "../reach/end-look.ts";
import type { ReachFacts } from "../reach/process-look.ts";
import { ProcessSamples } from "../sampling/sample-reader.ts";
import { WantedTables } from "../tables/make-wanted.ts";
import type { RecordedProgram } from "./left-behind.ts";
import { MemoryFile } from "./memory-file.ts";

/** A process that the program has started, or a program that a process has executed. */
export interface ChildProcess {
  program: RecordedProgram;
  memory: MemoryFile;
  samples: CpuSamples | undefined;
  /** Reachability of its live blocks; undefined if it is not computed. */
  reach: KnownReach | undefined;
  folder: string;
  isRunning: boolean;
}

const STILL_RUNNING =
  "The process was still running when the program that started it ended: its figures end there.";

function copyInWords(allocations: number): string {
  const made = counted(allocations, "allocation", "allocations");
  return `${made} between the fork and the exec of this process ${allocations === 1 ? "is" : "are"} in no run.`;
}

interface SeenMemory {
  path: string;
  pid: number;
  /** Nanoseconds of the monotonic clock. */
  start: bigint;
  memory: MemoryFile;
  wanted: WantedTables;
  samples: ProcessSamples | undefined;
  endLook: EndLook | undefined;
  folder: string | undefined;
}

/**
 * Processes that a program starts, found by their memory files. A process has ended when it is gone, or when
 * it has made its next memory.
 */
export class ChildProcesses {
  readonly #image: PlacedImage;
  readonly #main: string;
  readonly #out: string | undefined;
  readonly #sampleHz: number | undefined;
  readonly #seen = new Map<string, SeenMemory>();
  /** Per process: allocations before it executed the program of its next memory. */
  readonly #before = new Map<number, number>();
  /** Set once the recording has ended. */
  #free: ((memory: string) => void) | undefined;

  readonly #reachFacts: ReachFacts | undefined;

  /**
   * @param out template of run folders; undefined: the default
   * @param sampleHz undefined: no samples
   * @param reachFacts undefined: reachability is not computed
   */
  constructor(
    image: PlacedImage,
    pid: number,
    out: string | undefined,
    sampleHz?: number,
    reachFacts?: ReachFacts,
  ) {
    this.#sampleHz = sampleHz;
    this.#reachFacts = reachFacts;
    this.#image = image;
    this.#main = image.memoryOf(pid);
    this.#out = out;
  }

  /** Makes tables that processes wait for, and reads their samples. Call this often. */
  serve(): void {
    this.#findMemories();
    for (const { memory, wanted, samples, endLook: look } of this.#seen.values()) {
      look?.serve();
      wanted.make(memory, memory.program().file);
      // Messages about the samples are in the runs.
      samples?.readFrom(memory);
    }
  }

  /** Takes the earliest process that has ended, if there is one. */
  takeEnded(): ChildProcess | undefined {
    this.#findMemories();
    for (const seen of this.#inOrder()) {
      if (!this.#isOver(seen)) continue;
      if (seen.memory.header(Header.parent) !== 0 && this.#hasNext(seen)) this.#forget(seen);
      else return this.#take(seen, false);
    }
    return undefined;
  }

  /**
   * Ends the recording.
   * @param free called with the path of each memory, now and later
   */
  endRecording(free: (memory: string) => void): void {
    this.#findMemories();
    this.#free = free;
    for (const { path, memory } of this.#seen.values()) {
      memory.setHeader(Header.isOver, 1);
      free(path);
    }
  }

  get areRunning(): boolean {
    this.#findMemories();
    return this.#seen.size > 0;
  }

  running(): ChildProcess[] {
    this.#findMemories();
    return this.#inOrder().map((seen) => this.#describe(seen, true));
  }

  /** Takes the processes that have not ended. No tables are made for them from now on. */
  takeRunning(): ChildProcess[] {
    return this.#inOrder().map((seen) => {
      seen.memory.setHeader(Header.tablesWait, 0);
      return this.#take(seen, true);
    });
  }

  get unrecorded(): number {
    const isMemory = (path: string): boolean => path === this.#main || this.#seen.has(path);
    return this.#image.memories().filter(({ path }) => !isMemory(path)).length;
  }

  done({ memory }: ChildProcess): void {
    memory.close();
  }

  close(): void {
    for (const { memory, endLook: look } of this.#seen.values()) {
      memory.close();
      look?.close();
    }
    this.#seen.clear();
  }

  #findMemories(): void {
    for (const { path, pid } of this.#image.memories()) {
      if (path === this.#main || this.#seen.has(path)) continue;
      const memory = MemoryFile.open(path);
      if (memory === undefined) continue;
      if (this.#free !== undefined) {
        memory.setHeader(Header.isOver, 1);
        this.#free(path);
      }
      const wanted = new WantedTables(this.#image.tables);
      const samples =
        this.#sampleHz === undefined ? undefined : new ProcessSamples(this.#sampleHz, this.#image.path);
      const look =
        this.#reachFacts && new EndLook(pid, memory, { looked: this.#reachFacts, mayBeCopied: false });
      const start = memory.start();
      this.#seen.set(path, { path, pid, start, memory, wanted, samples, endLook: look, folder: undefined });
    }
  }

  #inOrder(): SeenMemory[] {
    return [...this.#seen.values()].sort((a, b) => Number(a.start - b.start));
  }

  #isOver(seen: SeenMemory): boolean {
    return this.#hasNext(seen) || !isProcess(seen.pid);
  }

  #hasNext({ pid, start }: SeenMemory): boolean {
    return [...this.#seen.values()].some((other) => other.pid === pid && other.start > start);
  }

  /** Forgets a copy of the parent that has executed another program. */
  #forget(seen: SeenMemory): void {
    this.#before.set(seen.pid, seen.memory.header(Place.control + Control.allocations));
    this.#remove(seen);
    seen.memory.close();
    seen.endLook?.close();
  }

  #take(seen: SeenMemory, isRunning: boolean): ChildProcess {
    const child = this.#describe(seen, isRunning);
    seen.endLook?.close();
    this.#before.delete(seen.pid);
    this.#remove(seen);
    return child;
  }

  /**
   * Removes the file at once, because a program may start thousands of processes. The next one may have the
   * same name.
   */
  #remove({ path }: SeenMemory): void {
    this.#seen.delete(path);
    rmSync(path, { force: true });
  }

  #describe(seen: SeenMemory, isRunning: boolean): ChildProcess {
    const { file, command } = seen.memory.program();
    const name = file === "" ? basename(command[0] ?? "") : basename(file);
    const program = programName(name || `process-${seen.pid}`);
    seen.folder ??= this.#folderOf(seen.pid, program);
    const before = this.#before.get(seen.pid) ?? 0;
    return {
      program: {
        command: command.length > 0 ? command : [file],
        program,
        file,
        image: this.#image.path,
        notes: [...(before > 0 ? [copyInWords(before)] : []), ...(isRunning ? [STILL_RUNNING] : [])],
      },
      memory: seen.memory,
      samples: seen.samples?.file(seen.memory),
      reach: isRunning
        ? seen.endLook && STILL_GOES_ON
        : seen.endLook?.reachAtEnd({ kind: "ended" }, undefined).reach,
      folder: seen.folder,
      isRunning,
    };
  }

  /** Returns a new folder: process ids are reused. */
  #folderOf(pid: number, program: string): string {
    const out = this.#out ?? defaultOutTemplate(process.cwd(), program);
    const template = hasPlaceHolder(out, "p") ? out : `${out}.%p`;
    const folder = expandOutTemplate(template, { pid, sequence: 1, environment: process.env });
    const taken = new Set([...this.#seen.values()].map((seen) => seen.folder));
    let free = folder;
    for (let i = 2; existsSync(free) || taken.has(free); i++) free = `${folder}.${i}`;
    return free;
  }
}
