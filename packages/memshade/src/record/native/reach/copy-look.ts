import { setTimeout as delay } from "node:timers/promises";
import { counted } from "../../../profile/model/counted.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import { Header } from "../layout.ts";
import { OpenedProcess, type SeenThread, StandingThreads, stackOf } from "./opened-process.ts";
import type { ProcessLook } from "./process-look.ts";

/** Most copies while threads run: their registers are not in a copy. */
const TRIES = 3;
const PAUSE_MS = 5;
/** Most time for a copy to start sleeping. */
const ASLEEP_MS = 100;
const NO_COPY = 0;

export interface LookedTables {
  tables: SharedArrayBuffer;
  reach: KnownReach;
}

/** Reads a process that goes on: a hook makes a copy of it. */
export class CopyLook {
  readonly #target: ProcessLook;
  readonly #memory: MemoryFile;
  readonly #threads: number;
  #error = 0;

  constructor(target: ProcessLook, memory: MemoryFile) {
    this.#target = target;
    this.#memory = memory;
    this.#threads = target.threads;
  }

  /**
   * Returns why nothing was found.
   * @param isAsked a copy was to be made
   */
  why(isAsked: boolean): string {
    const threads = counted(this.#threads, "thread was", "threads were");
    if (!isAsked) return `${threads} running`;
    const reason = this.#error === 0 ? "" : ` (error ${this.#error})`;
    return `${threads} running, and the process could not be copied to search its memory${reason}`;
  }

  /**
   * Returns undefined if no copy could be made and the process was not asleep.
   * @param mayCopy false: only tries a sleeping process
   */
  async read(mayCopy: boolean): Promise<LookedTables | undefined> {
    for (let i = 1; mayCopy && i <= TRIES; i++) {
      const found = await this.#readCopy(i === TRIES);
      if (found === "asleep") break;
      if (found !== "running") return found;
      await delay(PAUSE_MS);
    }
    return this.#readAsleep();
  }

  /** Reads a process if no thread runs meanwhile. */
  #readAsleep(): LookedTables | undefined {
    const memory = this.#memory;
    const standing = new StandingThreads(this.#target.pid);
    const sleeping = standing.now();
    if (sleeping.some(({ stack }) => stack === undefined) || memory.header(Header.changing) !== 0)
      return undefined;
    const ending = memory.header(Header.endThread);
    const end = ending === 0 ? [] : [memory.u64(Header.endStack)];
    const otherStacks = sleeping.flatMap(({ id, stack }) => (id === ending ? [] : (stack ?? [])));
    const tables = memory.read();
    const reach = this.#target.through(memory, {
      tables,
      stacks: [...end, ...otherStacks],
      running: new Set(),
    });
    return standing.now().every(({ stack }) => stack !== undefined) ? { tables, reach } : undefined;
  }

  async #readCopy(isLast: boolean): Promise<LookedTables | "running" | "asleep" | undefined> {
    const memory = this.#memory;
    if (memory.isClosed) return undefined;
    const copied = memory.copy();
    memory.setHeader(Header.copy, NO_COPY);
    memory.setHeader(Header.copyAsked, 1);
    const standing = new StandingThreads(this.#target.pid);
    let threads: SeenThread[] = [];
    const tables = await memory.readStillInto(copied, () => {
      threads = standing.now();
    });
    memory.setHeader(Header.copyAsked, 0);
    const copy = memory.header(Header.copy) | 0;
    if (copy === NO_COPY) return "asleep";
    if (copy < 0) {
      this.#error = -copy;
      return undefined;
    }
    try {
      return tables === undefined ? undefined : await this.#through(tables, copy, threads, isLast);
    } finally {
      endCopy(copy);
    }
  }

  async #through(
    tables: SharedArrayBuffer,
    copy: number,
    threads: readonly SeenThread[],
    isLast: boolean,
  ): Promise<LookedTables | "running" | undefined> {
    const memory = this.#memory;
    const [copier, ending] = [memory.header(Header.copier), memory.header(Header.endThread)];
    const otherThreads = threads.filter(({ id }) => id !== copier && id !== ending);
    const runs = otherThreads.filter(({ stack }) => stack === undefined);
    if (runs.length > 0 && !isLast) return "running";
    const opened = OpenedProcess.open(copy);
    if (opened === undefined) return undefined;
    try {
      const own = ending === 0 || copier !== ending ? await stackOfCopy(copy) : undefined;
      const end = ending === 0 ? undefined : memory.u64(Header.endStack);
      const stacks = [own, end, ...otherThreads.map(({ stack }) => stack)].flatMap((stack) => stack ?? []);
      const running = new Set(runs.map(({ id }) => (id === this.#target.pid ? 0 : id)));
      return { tables, reach: this.#target.through(memory, { tables, stacks, running }, opened) };
    } finally {
      opened.close();
    }
  }
}

async function stackOfCopy(copy: number): Promise<number | undefined> {
  for (let waited = 0; waited < ASLEEP_MS; waited++) {
    const stack = stackOf(copy, copy);
    if (stack !== undefined) return stack;
    await delay(1);
  }
  return undefined;
}

function endCopy(copy: number): void {
  try {
    process.kill(copy, "SIGKILL");
  } catch {}
}
