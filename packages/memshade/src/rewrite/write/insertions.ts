/** What is put into a function body at one place. The writer knows the bytes of those that no tool has to itself. */
export const InsertionKind = {
  /** Nothing: an entry that turned out not to be needed. */
  None: 0,
  /** `a`: local. Keeps the value on top of the stack in a temporary. */
  Tee: 1,
  /** `a`: address temporary, `b`: access instruction. Before it: keeps the address that lies below its other operands. */
  TeeBelow: 2,
  /** `a`: length of the instruction that is replaced, `b`: function called instead. */
  ReplaceByCall: 3,
  /** As ReplaceByCall with `return_call`. */
  ReplaceByTailCall: 4,
  /** `a`: local set to 0. Before a loop. */
  ClearLocal: 5,
  /** `a`: local. One more trip. */
  AddTrip: 6,
  /** `a`: destination local, `b`: source local. Before a loop. */
  CopyLocal: 7,
  /** `a`: where `b` was before the loop; becomes the number of trips. `b`: local that moved by `c` per trip. */
  TripsFromDistance: 8,
  /** `a`: length of code that nothing reaches, which is left out. */
  Drop: 9,
  /** This and the following ones belong to the tools' passes, in their order: `KINDS_PER_PASS` each. */
  FirstOfPasses: 16,
} as const;

const PASS_SHIFT = 4;
/** Kinds of insertions that a pass may tell apart; it may also do so by their operands. */
export const KINDS_PER_PASS = 1 << PASS_SHIFT;

/** The first kind of the pass with this number. */
export function kindOfPass(pass: number): number {
  return InsertionKind.FirstOfPasses + pass * KINDS_PER_PASS;
}

/** The number of the pass that a kind belongs to. */
export function passOfKind(kind: number): number {
  return (kind - InsertionKind.FirstOfPasses) >>> PASS_SHIFT;
}

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
  /** Linear forms that entries refer to by index. */
  forms: LinearForm[] = [];
  #order = new Int32Array(1024);

  clear(): void {
    this.length = 0;
    this.forms.length = 0;
  }

  /** Returns the index of the new entry. */
  add(position: number, kind: number, a = 0, b = 0, c = 0, d = 0): number {
    const replaces =
      kind === InsertionKind.ReplaceByCall ||
      kind === InsertionKind.ReplaceByTailCall ||
      kind === InsertionKind.Drop;
    return this.#add(position * 4 + (replaces ? LATE : USUAL), kind, a, b, c, d);
  }

  /**
   * As `add`, but before everything else at that place. For what is added late behind an access and uses its address: the
   * access's result may be an address too, which is then kept there, in the same temporary.
   */
  addEarly(position: number, kind: number, a = 0, b = 0, c = 0, d = 0): number {
    return this.#add(position * 4, kind, a, b, c, d);
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
