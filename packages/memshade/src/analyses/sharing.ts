import { LINE_BYTES } from "./locality/lines.ts";

/** One access by one thread, in the order in which the threads ran. */
export interface ThreadAccess {
  /** Small number of the thread, from 0. */
  thread: number;
  writes: boolean;
  address: number;
  size: number;
  /** Whatever identifies the place in the program. */
  context?: number | undefined;
}

/** Who used a byte of a line. */
export interface ByteUse {
  readers: ReadonlySet<number>;
  writers: ReadonlySet<number>;
  contexts: ReadonlySet<number>;
}

export interface SharedLine {
  line: number;
  /** Stores that took the line away from another thread. */
  invalidations: number;
  /** Loads, by a thread that did not hold the line, of what another thread stored last. */
  remoteModifiedHits: number;
  threads: ReadonlySet<number>;
  /** "true": a byte is used by two threads and stored by one of them; "false": only the line is. */
  sharing: "true" | "false" | "none";
  /** By offset in the line; only the bytes that were used. */
  bytes: ReadonlyMap<number, ByteUse>;
}

interface LineState {
  holders: Set<number>;
  threads: Set<number>;
  lastWriter: number;
  invalidations: number;
  remoteModifiedHits: number;
  bytes: Map<number, { readers: Set<number>; writers: Set<number>; contexts: Set<number> }>;
}

const NOBODY = -1;

/**
 * Finds lines that move between threads, and whether the threads need each other's bytes. Definitions as Cheetah's,
 * Predator's and perf c2c's. Counts hold for the interleaving of the stream; where threads were made to take turns,
 * they are estimates from above.
 */
export class SharingAnalysis {
  readonly #lines = new Map<number, LineState>();

  add(access: ThreadAccess): void {
    const end = access.address + access.size;
    for (let at = access.address; at < end; ) {
      const line = Math.floor(at / LINE_BYTES);
      const next = Math.min(end, (line + 1) * LINE_BYTES);
      this.#addToLine(line, at - line * LINE_BYTES, next - line * LINE_BYTES, access);
      at = next;
    }
  }

  /** Lines used by at least two threads, most invalidations first. */
  sharedLines(): SharedLine[] {
    const shared = [...this.#lines].filter(([, { threads }]) => threads.size > 1);
    return shared
      .map(([line, state]): SharedLine => {
        const { invalidations, remoteModifiedHits, threads, bytes } = state;
        return { line, invalidations, remoteModifiedHits, threads, bytes, sharing: sharingOf(state) };
      })
      .sort(
        (a, b) =>
          b.invalidations - a.invalidations || b.remoteModifiedHits - a.remoteModifiedHits || a.line - b.line,
      );
  }

  #addToLine(line: number, from: number, to: number, { thread, writes, context }: ThreadAccess): void {
    let state = this.#lines.get(line);
    if (state === undefined) {
      state = {
        holders: new Set(),
        threads: new Set(),
        lastWriter: NOBODY,
        invalidations: 0,
        remoteModifiedHits: 0,
        bytes: new Map(),
      };
      this.#lines.set(line, state);
    }
    const { holders } = state;
    state.threads.add(thread);
    if (writes) {
      if (holders.size > (holders.has(thread) ? 1 : 0)) state.invalidations++;
      holders.clear();
      state.lastWriter = thread;
    } else if (state.lastWriter !== NOBODY && state.lastWriter !== thread && !holders.has(thread))
      state.remoteModifiedHits++;
    holders.add(thread);
    for (let offset = from; offset < to; offset++) {
      let use = state.bytes.get(offset);
      if (use === undefined) {
        use = { readers: new Set(), writers: new Set(), contexts: new Set() };
        state.bytes.set(offset, use);
      }
      (writes ? use.writers : use.readers).add(thread);
      if (context !== undefined) use.contexts.add(context);
    }
  }
}

function sharingOf({ bytes, invalidations }: LineState): SharedLine["sharing"] {
  for (const { readers, writers } of bytes.values())
    if (writers.size > 0 && new Set([...readers, ...writers]).size > 1) return "true";
  return invalidations > 0 ? "false" : "none";
}
