import { counted } from "../../../profile/model/counted.ts";
import type { RunEnd } from "../../../profile/model/run.ts";
import { Control } from "../../tools/heap/layout.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstanceReach } from "../../tools/heap/read/reach/sum-up.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import { Answer, Header, MAPPING_BYTES, Mapping, Place, Wish } from "../layout.ts";
import { lookThroughProcess, type OwnMemory } from "./look-through-process.ts";
import { readMappedRanges } from "./mapped-ranges.ts";
import { OpenedProcess } from "./opened-process.ts";
import { ProcessMemory } from "./process-memory.ts";

/** What is known of all processes of a run. */
export interface LookedAt {
  own: OwnMemory;
  /** The allocator is another one than the C library's. */
  isForeign: boolean;
}

/** Reads of the header for which a process has time to say that it is what it seems to be. */
const SURE_READS = 2000;
const UNREADABLE = "the system lets nobody read its memory";
const WENT_ON = "the program went on before its memory was read";
const UNSEEN = "it ended in a way of its own, in which nothing runs at the end";
const CHANGING = "it ended inside of its allocator";

export const STILL_GOES_ON: KnownReach = { unknown: "the program was running" };

const NOTHING: InstanceReach = {
  contexts: new Uint32Array(),
  sums: new Float64Array(),
  inside: false,
  hostMayHold: false,
  accessesAfter: 0,
};

/** Waits for a process to end, and looks then which of its blocks can still be reached. */
export class EndLook {
  #reach: KnownReach | undefined;
  #isOver = false;
  readonly #what: LookedAt;
  readonly #process: OpenedProcess | undefined;

  /** To be made as soon as the process has its memory. */
  constructor(pid: number, memory: MemoryFile, what: LookedAt) {
    memory.setHeader(Header.watcher, process.pid);
    this.#what = what;
    this.#process = OpenedProcess.open(pid);
  }

  close(): void {
    this.#process?.close();
  }

  /** To be called often: the process may wait for it. */
  serve(memory: MemoryFile): void {
    if (this.#isOver) return;
    let wish = memory.header(Header.wish);
    if (wish !== Wish.asked && wish !== Wish.sure) return;
    if (wish === Wish.asked && this.#process?.isConfined === false) {
      memory.setHeader(Header.answer, Answer.mayCall);
      for (let i = 0; i < SURE_READS && wish === Wish.asked; i++) wish = memory.header(Header.wish);
      if (wish === Wish.none) memory.setHeader(Header.answer, Answer.none);
    }
    if (wish === Wish.asked && this.#process?.isConfined === false) return;
    // A child that shares its memory, while it waits for that child.
    const isOther = wish === Wish.asked && this.#process?.isInCall === true;
    if (wish !== Wish.none && wish !== Wish.over && !isOther) this.#reach = this.#look(memory);
    if (wish === Wish.none) return;
    this.#isOver = true;
    memory.setHeader(Header.answer, Answer.done);
  }

  /** What is known of its blocks when it has ended. */
  known(memory: MemoryFile, end: RunEnd, replacedBy: string | undefined): KnownReach {
    if (memory.u64(Place.control + Control.live) === 0) return NOTHING;
    if (this.#reach !== undefined) return this.#reach;
    if (replacedBy !== undefined) return { unknown: "it has replaced itself by another program" };
    if (end.kind === "signal") return { unknown: `it was ended by ${end.signal}` };
    return { unknown: UNSEEN };
  }

  #look(memory: MemoryFile): KnownReach {
    try {
      return this.#lookThrough(memory);
    } catch (error) {
      // It has been ended meanwhile.
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return { unknown: WENT_ON };
      throw error;
    }
  }

  #lookThrough(memory: MemoryFile): KnownReach {
    const looked = this.#process;
    if (looked === undefined) return { unknown: UNREADABLE };
    const threads = looked.threads().length;
    if (threads > 1) return { unknown: `${counted(threads, "thread was", "threads were")} running` };
    if (memory.header(Header.changing) !== 0) return { unknown: CHANGING };
    let sign = 0;
    const beat = (): void => memory.setHeader(Header.sign, ++sign);
    beat();
    const tables = memory.read();
    beat();
    const reach = lookThroughProcess({
      tables,
      counters: memory.counters,
      memory: new ProcessMemory(looked, beat),
      ranges: readMappedRanges(looked.maps()),
      stacks: [memory.u64(Header.endStack)],
      mappings: mappingsIn(memory),
      ...this.#what,
    });
    return memory.header(Header.wish) === Wish.over ? { unknown: WENT_ON } : reach;
  }
}

function mappingsIn(memory: MemoryFile): Set<number> {
  const bytes = memory.bytes(Place.mappings, memory.header(Header.mappings) * MAPPING_BYTES);
  const count = bytes.length / MAPPING_BYTES;
  return new Set(
    Array.from({ length: count }, (_, i) => Number(bytes.readBigUInt64LE(i * MAPPING_BYTES + Mapping.start))),
  );
}
