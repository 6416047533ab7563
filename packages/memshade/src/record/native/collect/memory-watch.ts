import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { RunEnd } from "../../../profile/model/run.ts";
import { say } from "../../host/run/terminal-line.ts";
import type { PlacedImage } from "../image/place-image.ts";
import { Header } from "../layout.ts";
import { EndLook } from "../reach/end-look.ts";
import type { LookedAt } from "../reach/process-look.ts";
import type { ProcessSamples } from "../sampling/sample-reader.ts";
import { WantedTables } from "../tables/make-wanted.ts";
import type { ChildProcess, ChildProcesses } from "./child-processes.ts";
import type { LeftBehind } from "./left-behind.ts";
import { MemoryFile } from "./memory-file.ts";

/** Names of a process's threads, by their ids, as they are seen from outside: most get one after they have begun. */
export class ThreadNames {
  readonly #folder: string;
  readonly names = new Map<number, string>();

  constructor(pid: number) {
    this.#folder = `/proc/${pid}/task`;
  }

  /** To be called now and then. A thread that is gone keeps its last name. */
  look(): void {
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
    // It has ended meanwhile.
    return undefined;
  }
}

const DELETED = / \(deleted\)$/;

/** What a process runs by now, where that is not what it began with: then what was recorded ends there. */
export class ReplacedProgram {
  /** Path of the last program that it has replaced itself by. */
  path: string | undefined;
  readonly #link: string;
  readonly #before: ReadonlySet<string>;

  /** @param pid of the process @param before paths, without links, of its program and of what has become that */
  constructor(pid: number, before: readonly string[]) {
    this.#link = `/proc/${pid}/exe`;
    this.#before = new Set(before);
  }

  /** To be called often. */
  look(): void {
    const path = this.#read()?.replace(DELETED, "");
    if (path !== undefined && !this.#before.has(path)) this.path = path;
  }

  /** Undefined where it has ended, or nobody may look. */
  #read(): string | undefined {
    try {
      return readlinkSync(this.#link);
    } catch {
      return undefined;
    }
  }
}

/** What a process had mapped when somebody looked last. */
export class LastMaps {
  /** As the kernel tells it; empty: nobody could look. */
  text = "";
  readonly #path: string;

  constructor(pid: number) {
    this.#path = `/proc/${pid}/maps`;
  }

  /** To be called now and then. */
  look(): void {
    try {
      this.text = readFileSync(this.#path, "latin1") || this.text;
    } catch {
      // It has ended.
    }
  }
}

/** What the kernel said last of a process's memory: it says nothing of one that has ended. */
export class LastStatus {
  text = "";
  readonly #path: string;

  constructor(pid: number) {
    this.#path = `/proc/${pid}/status`;
  }

  /** To be called often: what it says last is to be of the end. */
  look(): void {
    const text = read(this.#path) ?? "";
    if (text.includes("VmRSS:")) this.text = text;
  }
}

/** So often it is seen to what programs wait for. */
const WATCH_MS = 10;
/** So many times as rarely the names of threads are looked at, and what the program has mapped. */
const NAMES_TURNS = 10;
/** A process that was told to end has so long for it. */
const ENDING_MS = 100;

/** The file that a process shares what inserted code counts by, beside that of its memory. */
function countsOf(memory: string): string {
  return `${memory}.counts`;
}

/** The memory of the program, once there is one, and of its children. Meanwhile the tables are made that they wait for. */
export class MemoryWatch {
  /** Is given each child when it has ended. */
  onChild: (child: ChildProcess) => void = () => undefined;
  /** Is called now and then while the program runs. */
  onTurn: () => void = () => undefined;
  /** What processes may take of memory to be recorded, bytes; and what is called, once, when they take more. */
  limit = Number.POSITIVE_INFINITY;
  onLimit: () => void = () => undefined;
  readonly #path: string;
  readonly #image: PlacedImage;
  readonly #wanted: WantedTables;
  readonly #timer: NodeJS.Timeout;
  readonly #children: ChildProcesses | undefined;
  readonly #samples: ProcessSamples | undefined;
  readonly #threads: ThreadNames;
  readonly #maps: LastMaps;
  readonly #status: LastStatus;
  /** Undefined where it is recorded, as children are. */
  readonly #replaced: ReplacedProgram | undefined;
  #turn = 0;
  #memory: MemoryFile | undefined;
  readonly #pid: number;
  readonly #looked: LookedAt | undefined;
  #look: EndLook | undefined;

  /**
   * @param programs paths, without links, of the program and of what starts it
   * @param looked absent where nobody asks which blocks can be reached at its end
   */
  constructor(
    image: PlacedImage,
    pid: number,
    children: ChildProcesses | undefined,
    samples: ProcessSamples | undefined,
    { programs, looked }: { programs: readonly string[]; looked: LookedAt | undefined },
  ) {
    this.#pid = pid;
    this.#looked = looked;
    this.#samples = samples;
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
    if (this.#memory === undefined) {
      this.#memory = MemoryFile.open(this.#path);
      if (this.#memory !== undefined && this.#looked !== undefined)
        this.#look = new EndLook(this.#pid, this.#memory, { looked: this.#looked, mayBeCopied: true });
    }
    return this.#memory;
  }

  /** What the program has left in it, when it has ended. */
  left(end: RunEnd): LeftBehind | undefined {
    const { memory } = this;
    if (memory === undefined) return undefined;
    const known = this.#look?.known(end, this.#replaced?.path);
    const tables = known?.tables ?? memory.read();
    return { memory: tables, counters: memory.counters, reach: known?.reach, ...this.#beside(memory) };
  }

  /** What it has so far, while no thread changes it. */
  async leftSoFar(): Promise<LeftBehind | undefined> {
    const { memory } = this;
    const known = await this.#look?.soFar();
    const still = known?.tables ?? (await memory?.readStill());
    if (memory === undefined || still === undefined) return undefined;
    return { memory: still, counters: memory.counters, reach: known?.reach, ...this.#beside(memory) };
  }

  /** Nothing of any process is recorded from here on. @param free is given the paths of what they go on counting in */
  endRecording(free: (counts: string) => void): void {
    this.memory?.setHeader(Header.isOver, 1);
    if (existsSync(countsOf(this.#path))) free(countsOf(this.#path));
    this.#children?.endRecording((path) => existsSync(countsOf(path)) && free(countsOf(path)));
  }

  #beside(memory: MemoryFile): Omit<LeftBehind, "memory"> {
    return {
      names: this.#threads.names,
      samples: this.#samples?.file(memory),
      replacedBy: this.#replaced?.path,
      maps: memory.maps() || this.#maps.text,
      status: this.#status.text,
      counts: existsSync(countsOf(this.#path)) ? countsOf(this.#path) : undefined,
    };
  }

  /** Children that have not ended. */
  get running(): ChildProcess[] {
    return this.#children?.running() ?? [];
  }

  /** Children that could not be recorded. */
  get unrecorded(): number {
    return this.#children?.unrecorded ?? 0;
  }

  /** Gives away the children that are left. @returns whether some have not ended */
  async takeChildren(): Promise<boolean> {
    const children = this.#children;
    if (children === undefined) return false;
    for (let waited = 0; waited < ENDING_MS; waited += WATCH_MS) {
      while (this.#takeOne(children)) children.serve();
      if (!children.areRunning) return false;
      await delay(WATCH_MS);
    }
    const left = children.takeRunning();
    for (const child of left) this.#give(child, children);
    return left.length > 0;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#children?.close();
    this.#look?.close();
    this.#memory?.close();
    this.#memory = undefined;
  }

  /** What somebody waits for comes first; making a run takes a while. */
  #serve(): void {
    const { memory } = this;
    if (memory !== undefined && this.#image.takenBytes() > this.limit) {
      this.limit = Number.POSITIVE_INFINITY;
      this.onLimit();
    }
    this.#replaced?.look();
    const isTurn = this.#turn++ % NAMES_TURNS === 0;
    if (isTurn) this.onTurn();
    if (memory !== undefined) {
      this.#look?.serve();
      this.#status.look();
      if (isTurn) {
        this.#threads.look();
        this.#maps.look();
      }
      this.#wanted.make(memory);
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
