import type { Accumulator } from "../../tools/heap/pass/loop-accumulators.ts";

/** What is put into a function body at one place. The writer knows the bytes of each. */
export const InsertionKind = {
  /** `a`: local. Keeps the value on top of the stack in a temporary. */
  Tee: 0,
  /** `a`: local with the base address, `b`: constant to add to it, `c`: (accesses << 1) | (1 if one of them reads). */
  Count: 1,
  /** `a`: call site. Before a call: writes the caller's frame and moves the shadow stack pointer past it. */
  PushFrame: 2,
  /** Before a call inside a recursive component, of a wrapper, or a tail call: the callee takes the caller's frame. */
  KeepFrame: 3,
  /**
   * `a`: call site, `b`: local that keeps the host word, `c`: 1 if the call certainly leaves the module. As PushFrame,
   * before a call that may come back in.
   */
  PushHostFrame: 4,
  /** `a`: that local, `b`: as `c` of the push. After a call that left the module. */
  ReturnFromHost: 5,
  /** First thing in a body: reads the shadow stack pointer. */
  Prologue: 6,
  /** `a`: length of the instruction that is replaced, `b`: function called instead. */
  ReplaceByCall: 7,
  /** As ReplaceByCall with `return_call`. */
  ReplaceByTailCall: 8,
  /** `a`: local set to 0. Before a loop. */
  ClearLocal: 9,
  /** `a`: local. One more trip. */
  AddTrip: 10,
  /** `a`: destination local, `b`: source local. Before a loop. */
  CopyLocal: 11,
  /** `a`: where `b` was before the loop; becomes the number of trips. `b`: local that moved by `c` per trip. */
  TripsFromDistance: 12,
  /** `a`: address (a linear form), `c`: counter word of one trip, `d`: trips. After the loop. */
  CountTrips: 13,
  /** `a`: address behind the last trip and `b`: stride (linear forms), `c`: counter word, `d`: trips. After the loop. */
  CountStrided: 14,
  /** `a`: address temporary, `b`: access instruction. Before it: keeps the address that lies below its other operands. */
  TeeBelow: 15,
  /** `a`: 1 if it certainly leaves the module. A tail call that may come back in. */
  KeepHostFrame: 16,
  /** As Count, by a call: smaller and slower. */
  CountOutlined: 17,
  /** As PushHostFrame and ReturnFromHost, by calls: smaller and slower. */
  PushHostFrameOutlined: 19,
  ReturnFromHostOutlined: 20,
  /** Nothing: an entry that turned out not to be needed. */
  None: 18,
  /**
   * `a`: length of a `br`, `br_if` or `br_table` that is replaced by itself, `b`: bits. Bit r: a block was put around the
   * one that label r means, so labels above r are one more.
   */
  Relabel: 21,
  /** As Count, into locals: `a` to `c` as there, `d`: index of the accumulator. */
  Accumulate: 22,
  /** `a`: index of the accumulator. Adds it to the counter, if there is something to add, and clears it. */
  FlushAccumulator: 23,
  /** `a`: length of code that nothing reaches, which is left out. */
  Drop: 24,
  /** This and the following ones belong to tools, in their order: see `ToolPass`. */
  FirstTool: 32,
} as const;

/** A sum of locals times constants, plus a constant. */
export interface LinearForm {
  terms: { local: number; factor: number }[];
  constant: number;
}

const USUAL = 1;
const LATE = 3;

/**
 * Insertions of one function, in columns. Passes add them nearly in order of position and may still change an entry's
 * operands until the function's end; `order()` then gives the writer the final order (stable for equal positions).
 */
export class Insertions {
  length = 0;
  /** Four times the position, plus 1; 0 for what comes early there, 3 for replacements and what stands right before the instruction. */
  key = new Int32Array(1024);
  kind = new Uint8Array(1024);
  a = new Int32Array(1024);
  b = new Int32Array(1024);
  c = new Int32Array(1024);
  d = new Int32Array(1024);
  /** Bytes of all branches that are replaced: labels may become a byte longer. */
  relabeledBytes = 0;
  /** Linear forms that entries refer to by index. */
  forms: LinearForm[] = [];
  /** Accumulators that entries refer to by index. */
  accumulators: Accumulator[] = [];
  #order = new Int32Array(1024);

  clear(): void {
    this.length = 0;
    this.forms.length = 0;
    this.accumulators.length = 0;
    this.relabeledBytes = 0;
  }

  /** Returns the index of the new entry. */
  add(position: number, kind: number, a = 0, b = 0, c = 0, d = 0): number {
    const replaces =
      kind === InsertionKind.ReplaceByCall ||
      kind === InsertionKind.ReplaceByTailCall ||
      kind === InsertionKind.Drop ||
      kind === InsertionKind.Relabel;
    if (kind === InsertionKind.Relabel) this.relabeledBytes += a;
    return this.#add(position * 4 + (replaces ? LATE : USUAL), kind, a, b, c, d);
  }

  /**
   * As `add`, but before everything else at that place. For what is added late behind an access and uses its address: the
   * access's result may be an address too, which is then kept there, in the same temporary.
   */
  addEarly(position: number, kind: number, a = 0, b = 0, c = 0, d = 0): number {
    return this.#add(position * 4, kind, a, b, c, d);
  }

  /** Where an entry belongs. */
  positionOf(entry: number): number {
    return this.key[entry] >>> 2;
  }

  /**
   * As `add`, but behind everything else at that place except for a replacement. For what pushes operands of the function
   * that is called instead of the instruction, and for what opens a block around it: other passes may still ask to keep
   * the value that is on top of the stack there.
   */
  addLate(position: number, kind: number, a = 0, b = 0, c = 0, d = 0): number {
    return this.#add(position * 4 + LATE, kind, a, b, c, d);
  }

  #add(key: number, kind: number, a: number, b: number, c: number, d: number): number {
    const i = this.length++;
    if (i === this.key.length) this.#grow();
    this.key[i] = key;
    this.kind[i] = kind;
    this.a[i] = a;
    this.b[i] = b;
    this.c[i] = c;
    this.d[i] = d;
    return i;
  }

  /** Takes an entry back. */
  remove(entry: number): void {
    this.kind[entry] = InsertionKind.None;
  }

  /**
   * Indices of all entries by position. Entries at one position keep the order in which they were added, except that
   * early ones come first, and late ones and the replacement of the instruction that starts there come last.
   */
  order(): Int32Array {
    const { key, length } = this;
    const order = this.#order.length >= length ? this.#order : new Int32Array(key.length);
    this.#order = order;
    for (let i = 0; i < length; i++) {
      const at = key[i];
      let j = i - 1;
      while (j >= 0 && key[order[j]] > at) {
        order[j + 1] = order[j];
        j--;
      }
      order[j + 1] = i;
    }
    return order;
  }

  #grow(): void {
    const size = this.key.length * 2;
    this.key = copyInto(new Int32Array(size), this.key);
    this.a = copyInto(new Int32Array(size), this.a);
    this.b = copyInto(new Int32Array(size), this.b);
    this.c = copyInto(new Int32Array(size), this.c);
    this.d = copyInto(new Int32Array(size), this.d);
    const kind = new Uint8Array(size);
    kind.set(this.kind);
    this.kind = kind;
  }
}

function copyInto(to: Int32Array<ArrayBuffer>, from: Int32Array): Int32Array<ArrayBuffer> {
  to.set(from);
  return to;
}
