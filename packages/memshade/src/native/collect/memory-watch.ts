import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { say } from "../../host/run/terminal-line.ts";
import type { PlacedImage } from "../image/place-image.ts";
import type { ProcessSamples } from "../sampling/cpu-samples.ts";
import { WantedTables } from "../tables/make-wanted.ts";
import type { ChildProcess, ChildProcesses } from "./child-processes.ts";
import { LastMaps } from "./last-maps.ts";
import { MemoryFile } from "./memory-file.ts";
import type { LeftBehind } from "./recorded-run.ts";
import { ReplacedProgram } from "./replaced-program.ts";
import { ThreadNames } from "./thread-names.ts";

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
  readonly #path: string;
  readonly #wanted: WantedTables;
  readonly #timer: NodeJS.Timeout;
  readonly #children: ChildProcesses | undefined;
  readonly #samples: ProcessSamples | undefined;
  readonly #threads: ThreadNames;
  readonly #maps: LastMaps;
  /** Undefined where it is recorded, as children are. */
  readonly #replaced: ReplacedProgram | undefined;
  #turn = 0;
  #memory: MemoryFile | undefined;

  constructor(
    { memoryOf, tables }: PlacedImage,
    pid: number,
    children: ChildProcesses | undefined,
    samples: ProcessSamples | undefined,
    launcher?: string,
  ) {
    this.#samples = samples;
    this.#threads = new ThreadNames(pid);
    this.#maps = new LastMaps(pid);
    this.#replaced = children === undefined ? new ReplacedProgram(pid, launcher) : undefined;
    this.#path = memoryOf(pid);
    this.#wanted = new WantedTables(tables);
    this.#children = children;
    this.#timer = setInterval(() => this.#serve(), WATCH_MS);
  }

  get memory(): MemoryFile | undefined {
    this.#memory ??= MemoryFile.open(this.#path);
    return this.#memory;
  }

  /** What the program has left in it, when it has ended. */
  left(): LeftBehind | undefined {
    const { memory } = this;
    return memory && { memory: memory.read(), counters: memory.counters, ...this.#beside(memory) };
  }

  /** What it has so far, while no thread changes it. */
  async leftSoFar(): Promise<LeftBehind | undefined> {
    const { memory } = this;
    return memory && { memory: await memory.readStill(), counters: memory.counters, ...this.#beside(memory) };
  }

  #beside(memory: MemoryFile): Omit<LeftBehind, "memory"> {
    return {
      ...{ names: this.#threads.names, samples: this.#samples?.file(memory) },
      ...{ replacedBy: this.#replaced?.path, maps: this.#maps.text },
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
    this.#memory?.close();
    this.#memory = undefined;
  }

  /** What somebody waits for comes first; making a run takes a while. */
  #serve(): void {
    const { memory } = this;
    this.#replaced?.look();
    const isTurn = this.#turn++ % NAMES_TURNS === 0;
    if (isTurn) this.onTurn();
    if (memory !== undefined) {
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
