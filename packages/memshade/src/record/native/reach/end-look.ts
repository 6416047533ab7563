import type { RunEnd } from "../../../profile/model/run.ts";
import { Control } from "../../tools/heap/layout.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstanceReach } from "../../tools/heap/read/reach/sum-up.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import { Answer, Header, Place, Wish } from "../layout.ts";
import { CopyLook } from "./copy-look.ts";
import { ProcessLook, type ReachFacts } from "./process-look.ts";

/** Most reads of the header until the process confirms its identity. */
const SURE_READS = 2000;
const WENT_ON = "the program went on before its memory was read";
const UNSEEN = "it ended without running its exit handlers";
const CHANGING = "it ended inside its allocator";

export const STILL_GOES_ON: KnownReach = { unknown: "the program was running" };

const NOT_COPIED: KnownReach = {
  unknown: "the program was running and did not call its allocator, where it can be copied",
};

const NOTHING: InstanceReach = {
  contexts: new Uint32Array(),
  sums: new Float64Array(),
  inside: false,
  hostMayHold: false,
  accessesAfter: 0,
};

export interface EndReach {
  reach: KnownReach;
  /** Tables at that moment, if the process has continued since. */
  tables: SharedArrayBuffer | undefined;
}

function unknownReach(unknown: string): EndReach {
  return { reach: { unknown }, tables: undefined };
}

/** Waits for the end of a process, and finds out which of its blocks can still be reached. */
export class EndLook {
  #found: EndReach | undefined;
  #isOver = false;
  #isCopy = false;
  readonly #target: ProcessLook;
  readonly #memory: MemoryFile;
  readonly #mayBeCopied: boolean;

  /**
   * Create this as soon as the process has its memory.
   * @param mayBeCopied only memshade's launcher waits for the process's children
   */
  constructor(
    pid: number,
    memory: MemoryFile,
    { looked, mayBeCopied }: { looked: ReachFacts; mayBeCopied: boolean },
  ) {
    memory.setHeader(Header.watcher, process.pid);
    this.#memory = memory;
    this.#mayBeCopied = mayBeCopied;
    this.#target = new ProcessLook(pid, looked);
  }

  close(): void {
    this.#target.close();
  }

  /** Answers the process, which may be waiting. Call this often. */
  serve(): void {
    const memory = this.#memory;
    if (this.#isOver) return;
    let wish = memory.header(Header.wish);
    if (wish !== Wish.asked && wish !== Wish.sure) return;
    if (wish === Wish.asked && !this.#target.isConfined) {
      memory.setHeader(Header.answer, Answer.mayCall);
      for (let i = 0; i < SURE_READS && wish === Wish.asked; i++) wish = memory.header(Header.wish);
      if (wish === Wish.none) memory.setHeader(Header.answer, Answer.none);
      if (wish !== Wish.sure) return;
    }
    this.#isOver = true;
    // The sender is a child that shares the memory, while the process waits for it.
    if (wish === Wish.asked && this.#target.isInCall) this.#finish(undefined);
    else if (this.#target.threads > 1) void this.#readCopy(wish === Wish.sure);
    else this.#finish(this.#readInPlace());
  }

  #finish(found: EndReach | undefined): void {
    this.#found = found;
    this.#memory.setHeader(Header.answer, Answer.done);
  }

  reachAtEnd(end: RunEnd, replacedBy: string | undefined): EndReach {
    if (this.#memory.u64(Place.control + Control.live) === 0) return { reach: NOTHING, tables: undefined };
    if (this.#found !== undefined) return this.#stillFound(this.#found);
    if (replacedBy !== undefined) return unknownReach("it has replaced itself by another program");
    if (end.kind === "signal") return unknownReach(`it was ended by ${end.signal}`);
    return unknownReach(this.#isOver ? WENT_ON : UNSEEN);
  }

  /** A program that was held may have continued for a few steps. */
  #stillFound(found: EndReach): EndReach {
    const isOfNow = this.#isCopy || found.tables === undefined || this.#memory.isAs(found.tables);
    return isOfNow ? found : { ...found, tables: undefined };
  }

  async soFar(): Promise<EndReach> {
    const copies = new CopyLook(this.#target, this.#memory);
    const looked = await copies.read(this.#mayBeCopied && !this.#target.isConfined);
    return looked ?? { reach: NOT_COPIED, tables: undefined };
  }

  #readInPlace(): EndReach {
    const memory = this.#memory;
    if (memory.header(Header.changing) !== 0) return unknownReach(CHANGING);
    const tables = memory.read();
    const stacks = [memory.u64(Header.endStack)];
    const reach = this.#target.through(memory, { tables, stacks, running: new Set() });
    if (memory.header(Header.wish) === Wish.over) return unknownReach(WENT_ON);
    return { reach, tables };
  }

  async #readCopy(mayCall: boolean): Promise<void> {
    const copies = new CopyLook(this.#target, this.#memory);
    const isPossible = mayCall && this.#mayBeCopied;
    const looked = await copies.read(isPossible);
    this.#isCopy = true;
    const reach = looked?.reach ?? { unknown: copies.why(isPossible) };
    this.#finish({ reach, tables: looked?.tables });
  }
}
