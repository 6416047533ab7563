import * as Op from "../../../code/wasm/op.generated.ts";
import { grown } from "../../../ground/bytes/columns.ts";
import type { SnippetSink } from "./snippet-sink.ts";

/**
 * Code that a pass inserts at a position. It writes its instructions after the walk of the function; until then a pass
 * may change it. An insertion without state of its own may be used at many positions.
 */
export interface Insertion {
  /** Writes at most `LONGEST_SNIPPET` bytes. */
  write(sink: SnippetSink): void;
}

/** An insertion that a pass may cancel later. */
export class OptionalInsertion implements Insertion {
  isLeftOut = false;
  readonly #write: (sink: SnippetSink) => void;

  constructor(write: (sink: SnippetSink) => void) {
    this.#write = write;
  }

  write(sink: SnippetSink): void {
    if (!this.isLeftOut) this.#write(sink);
  }
}

const EARLY = 0;
const USUAL = 1;
const LATE = 3;

/** Insertions of one function. Passes add them nearly in order of position; `order()` returns the final order. */
export class Insertions {
  length = 0;
  readonly insertion: Insertion[] = [];
  /** Number of original bytes that each insertion replaces. */
  replaces = new Int32Array(1024);
  /** Four times the position, plus the rank at that position. */
  #key = new Int32Array(1024);
  #order = new Int32Array(1024);

  clear(): void {
    this.length = 0;
  }

  add(position: number, insertion: Insertion): void {
    this.#add(position * 4 + USUAL, insertion, 0);
  }

  /**
   * Like `add`, but before everything else at that position. Use it for an insertion added later that uses the address
   * of the access before: the access's result may be an address, too, which is then kept there in the same temporary.
   */
  addEarly(position: number, insertion: Insertion): void {
    this.#add(position * 4 + EARLY, insertion, 0);
  }

  /**
   * Like `add`, but after everything else at that position except a replacement. Use it to push operands for a
   * replacement call, or to open a block around the instruction. Other passes may still copy the value on top of the
   * stack at that position.
   */
  addLate(position: number, insertion: Insertion): void {
    this.#add(position * 4 + LATE, insertion, 0);
  }

  replace(start: number, end: number, insertion: Insertion): void {
    this.#add(start * 4 + LATE, insertion, end - start);
  }

  positionOf(index: number): number {
    return this.#key[index] >>> 2;
  }

  /**
   * Returns the indices of all insertions by position. At one position the order of adding is kept, except that early
   * ones come first, and late ones and a replacement come last.
   */
  order(): Int32Array {
    const { length } = this;
    const key = this.#key;
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

  #add(key: number, insertion: Insertion, replaces: number): void {
    const index = this.length++;
    if (index === this.#key.length) this.#grow();
    this.#key[index] = key;
    this.replaces[index] = replaces;
    this.insertion[index] = insertion;
  }

  #grow(): void {
    this.#key = grown(this.#key, this.#key.length * 2);
    this.replaces = grown(this.replaces, this.replaces.length * 2);
  }
}

/** Inserts a call, usually instead of an instruction. `opcode` is `call` or `return_call`. */
export function callOf(target: number, opcode: number = Op.CALL): Insertion {
  return { write: (sink) => sink.indexed(opcode, target) };
}

export const NOTHING: Insertion = { write: () => {} };
