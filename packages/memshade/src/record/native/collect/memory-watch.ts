import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RunEnd } from "../../../profile/model/run.ts";
import { programName } from "../../host/run/run-folder.ts";
import { say } from "../../host/run/terminal-line.ts";
import type { PlacedImage } from "../image/place-image.ts";
import { Header } from "../layout.ts";
import { EndLook } from "../reach/end-look.ts";
import type { ReachFacts } from "../reach/process-look.ts";
import type { ProcessSamples } from "../sampling/sample-reader.ts";
import { WantedTables } from "../tables/make-wanted.ts";
import type { ChildProcess, ChildProcesses } from "./child-processes.ts";
import type { LeftBehind, RecordedProgram } from "./left-behind.ts";
import { MemoryFile } from "./memory-file.ts";

/**
 * Names of a process's threads by id, read from outside, because most threads get their name after they
 * began.
 */
export class ThreadNames {
  readonly #folder: string;
  readonly names = new Map<number, string>();

  constructor(pid: number) {
    this.#folder = `/proc/${pid}/task`;
  }

  /** Updates the names. Call this at intervals. An ended thread keeps its last name. */
  update(): void {
    for (const id of listed(this.#folder)) {
      const name = read(`${this.#folder}/${id}/comm`);
      if (name !== undefined) this.names.set(Number(id), name);
    }
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trimEnd();
  } catch {
    return undefined;
  }
}

const DELETED = / \(deleted\)$/;

/** Detects that a process has executed a program that does not go on with the recording. */
export class ReplacedProgram {
  path: string | undefined;
  readonly #link: string;
  readonly #before: ReadonlySet<string>;

  /**
   * @param pid process id
   * @param before paths, without links, of its program and of the launcher
   */
  constructor(pid: number, before: readonly string[]) {
    this.#link = `/proc/${pid}/exe`;
    this.#before = new Set(before);
  }

  /** Checks the program. Call this often. */
  check(): void {
    const path = this.#read()?.replace(DELETED, "");
    if (path !== undefined && !this.#before.has(path)) this.path = path;
  }

  #read(): string | undefined {
    try {
      return readlinkSync(this.#link);
    } catch {
      return undefined;
    }
  }
}

export class LastMaps {
  /** Content of /proc/PID/maps; empty if it could not be read. */
  text = "";
  readonly #path: string;

  constructor(pid: number) {
    this.#path = `/proc/${pid}/maps`;
  }

  update(): void {
    try {
      this.text = readFileSync(this.#path, "latin1") || this.text;
    } catch {}
  }
}

/** Index of `cminflt` in the fields behind the name. */
const CHILD_FAULTS = 9;

/** Last memory figures of a process; the kernel has none after its end. */
export class LastStatus {
  text = "";
  /** Page faults of ended child processes that the process has waited for. */
  childFaults = 0;
  readonly #path: string;
  readonly #statPath: string;

  constructor(pid: number) {
    this.#path = `/proc/${pid}/status`;
    this.#statPath = `/proc/${pid}/stat`;
  }

  /** Updates the text. Call this often, because the last figures should be those of the end. */
  update(): void {
    const text = read(this.#path) ?? "";
    if (text.includes("VmRSS:")) this.text = text;
    // The name before the fields may contain blanks and brackets.
    const fields = read(this.#statPath)?.split(")").at(-1)?.split(" ");
    this.childFaults = Math.max(this.childFaults, Number(fields?.[CHILD_FAULTS] ?? 0));
  }
}

/** Milliseconds between two checks for waiting programs. */
const WATCH_MS = 10;
/** Checks between two updates of thread names and mappings. */
const NAMES_TURNS = 10;
const ENDING_MS = 100;

function countsOf(memory: string): string {
  return `${memory}.counts`;
}

/** Puts an empty file in the place of one that may be mapped: the process chooses the first free name for the next one. */
function emptyFile(path: string): void {
  const empty = `${path}.empty`;
  writeFileSync(empty, "");
  renameSync(empty, path);
}

/** Program by which the recorded process has replaced itself. */
export type ReplacingProgram = Pick<RecordedProgram, "command" | "file" | "program" | "earlier">;

/** Watches the memories of the program and its children, and makes tables that they wait for. */
export class MemoryWatch {
  onChild: (child: ChildProcess) => void = () => undefined;
  /** Called at intervals while the program runs. */
  onTurn: () => void = () => undefined;
  /** Called when the process has replaced itself by a program that is recorded in place of the earlier one. */
  onReplaced: (program: ReplacingProgram) => void = () => undefined;
  /** Most bytes of memory for recording; `onLimit` is called once when processes take more. */
  limit = Number.POSITIVE_INFINITY;
  onLimit: () => void = () => undefined;
  #path: string;
  readonly #image: PlacedImage;
  #wanted: WantedTables;
  readonly #timer: NodeJS.Timeout;
  readonly #children: ChildProcesses | undefined;
  readonly #makeSamples: () => ProcessSamples | undefined;
  #samples: ProcessSamples | undefined;
  readonly #threads: ThreadNames;
  #maps: LastMaps;
  #status: LastStatus;
  /** Undefined if children are recorded, because an executed program is then recorded too. */
  #replaced: ReplacedProgram | undefined;
  /** Names of the programs that the process has executed before the recorded one. */
  readonly #earlier: string[] = [];
  /** Memories and looks of these. They stay open until the end, because a dump may be reading them. */
  readonly #dropped: { close(): void }[] = [];
  #isOver = false;
  #turn = 0;
  #memory: MemoryFile | undefined;
  readonly #pid: number;
  readonly #reachFacts: ReachFacts | undefined;
  #endLook: EndLook | undefined;

  /**
   * @param programs paths, without links, of the program and of its launcher
   * @param looked undefined: reachability is not computed
   */
  constructor(
    image: PlacedImage,
    pid: number,
    children: ChildProcesses | undefined,
    makeSamples: () => ProcessSamples | undefined,
    { programs, looked }: { programs: readonly string[]; looked: ReachFacts | undefined },
  ) {
    this.#pid = pid;
    this.#reachFacts = looked;
    this.#makeSamples = makeSamples;
    this.#samples = makeSamples();
    this.#threads = new ThreadNames(pid);
    this.#maps = new LastMaps(pid);
    this.#status = new LastStatus(pid);
    this.#replaced = children === undefined ? new ReplacedProgram(pid, programs) : undefined;
    this.#image = image;
    this.#path = image.memoryOf(pid);
    this.#wanted = new WantedTables(image.tables);
    this.#children = children;
    this.#timer = setInterval(() => this.#serve(), WATCH_MS);
  }

  get memory(): MemoryFile | undefined {
    if (this.#memory === undefined) this.#take(MemoryFile.open(this.#path));
    return this.#memory;
  }

  /** Path of the file in which inserted code counts. */
  get counts(): string {
    return countsOf(this.#path);
  }

  #take(memory: MemoryFile | undefined): void {
    this.#memory = memory;
    if (memory === undefined || this.#reachFacts === undefined) return;
    this.#endLook = new EndLook(this.#pid, memory, { looked: this.#reachFacts, mayBeCopied: true });
  }

  /** Goes on with the memory of the next program that the process has executed, and drops the earlier one. */
  #follow(): void {
    const earlier = this.memory;
    if (earlier === undefined || this.#children !== undefined) return;
    const next = `${this.#image.memoryOf(this.#pid)}.${this.#earlier.length + 2}`;
    const memory = existsSync(next) ? MemoryFile.open(next) : undefined;
    if (memory === undefined) return;
    if (this.#isOver) {
      memory.setHeader(Header.isOver, 1);
      memory.close();
      return;
    }
    this.#earlier.push(basename(earlier.program().file));
    this.#dropped.push(earlier, ...(this.#endLook === undefined ? [] : [this.#endLook]));
    this.#endLook = undefined;
    rmSync(this.counts, { force: true });
    emptyFile(this.#path);
    this.#path = next;
    this.#take(memory);
    this.#wanted = new WantedTables(this.#image.tables);
    this.#samples = this.#makeSamples();
    this.#maps = new LastMaps(this.#pid);
    this.#status = new LastStatus(this.#pid);
    const { file, command } = memory.program();
    this.#replaced = new ReplacedProgram(this.#pid, [file]);
    this.onReplaced({ command, file, program: programName(basename(file)), earlier: [...this.#earlier] });
    this.#follow();
  }

  /** Returns the data of the program after its end. */
  readAtEnd(end: RunEnd): LeftBehind | undefined {
    this.#follow();
    const { memory } = this;
    if (memory === undefined) return undefined;
    const reached = this.#endLook?.reachAtEnd(end, this.#replacedBy(memory));
    const tables = reached?.tables ?? memory.read();
    return { memory: tables, counters: memory.counters, reach: reached?.reach, ...this.#beside(memory) };
  }

  /** Returns the data of the running program, while no thread changes them. */
  async readSoFar(): Promise<LeftBehind | undefined> {
    const { memory } = this;
    const reached = await this.#endLook?.soFar();
    const still = reached?.tables ?? (await memory?.readStill());
    if (memory === undefined || still === undefined) return undefined;
    return { memory: still, counters: memory.counters, reach: reached?.reach, ...this.#beside(memory) };
  }

  /**
   * Ends the recording of all processes.
   * @param free called with the paths of files in which they continue to count
   */
  endRecording(free: (counts: string) => void): void {
    this.#isOver = true;
    this.memory?.setHeader(Header.isOver, 1);
    if (existsSync(this.counts)) free(this.counts);
    this.#children?.endRecording((path) => existsSync(countsOf(path)) && free(countsOf(path)));
  }

  /** Returns the program that is not recorded, which may have been too short to be seen. */
  #replacedBy(memory: MemoryFile): string | undefined {
    if (this.#children !== undefined) return undefined;
    return this.#replaced?.path ?? (memory.header(Header.isReplaced) === 0 ? undefined : "another program");
  }

  #beside(memory: MemoryFile): Omit<LeftBehind, "memory"> {
    return {
      names: this.#threads.names,
      samples: this.#samples?.file(memory),
      replacedBy: this.#replacedBy(memory),
      maps: memory.maps() || this.#maps.text,
      status: this.#status.text,
      childFaults: this.#status.childFaults,
      counts: existsSync(this.counts) ? this.counts : undefined,
    };
  }

  get running(): ChildProcess[] {
    return this.#children?.running() ?? [];
  }

  get unrecorded(): number {
    return this.#children?.unrecorded ?? 0;
  }

  /**
   * Reports the remaining children to `onChild`.
   * @returns true if some have not ended
   */
  async takeChildren(): Promise<boolean> {
    const children = this.#children;
    if (children === undefined) return false;
    for (let waited = 0; waited < ENDING_MS; waited += WATCH_MS) {
      while (this.#takeOne(children)) children.serve();
      if (!children.areRunning) return false;
      await delay(WATCH_MS);
    }
    const running = children.takeRunning();
    for (const child of running) this.#give(child, children);
    return running.length > 0;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#children?.close();
    this.#endLook?.close();
    this.#memory?.close();
    this.#memory = undefined;
    for (const dropped of this.#dropped) dropped.close();
  }

  /** Answers waiting processes first; making a run takes longer. */
  #serve(): void {
    this.#follow();
    const { memory } = this;
    if (memory !== undefined && this.#image.takenBytes() > this.limit) {
      this.limit = Number.POSITIVE_INFINITY;
      this.onLimit();
    }
    this.#replaced?.check();
    const isTurn = this.#turn++ % NAMES_TURNS === 0;
    if (isTurn) this.onTurn();
    if (memory !== undefined) {
      // A program that waits for the look may be gone after it.
      this.#status.update();
      this.#endLook?.serve();
      if (isTurn) {
        this.#threads.update();
        this.#maps.update();
      }
      this.#wanted.make(memory, this.#earlier.length === 0 ? undefined : memory.program().file);
      for (const sentence of this.#samples?.readFrom(memory) ?? []) say(sentence);
    }
    if (this.#children === undefined) return;
    this.#children.serve();
    this.#takeOne(this.#children);
  }

  #takeOne(children: ChildProcesses): boolean {
    const child = children.takeEnded();
    if (child === undefined) return false;
    this.#give(child, children);
    return true;
  }

  #give(child: ChildProcess, children: ChildProcesses): void {
    try {
      this.onChild(child);
    } finally {
      children.done(child);
    }
  }
}
