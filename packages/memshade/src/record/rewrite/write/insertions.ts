import { grown } from "../../../ground/bytes/grown.ts";
import type { SnippetSink } from "./snippet-sink.ts";

/**
 * What a pass puts into a function at one place: it writes its own instructions, when the function's walk is over. Until
 * then a pass may change it. One that needs nothing of its place may stand at many.
 */
export interface Insertion {
  /** At most `LONGEST_SNIPPET` bytes. */
  write(sink: SnippetSink): void;
}

/** One that may turn out not to be needed. */
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

/** Insertions of one function. Passes add them nearly in order of position; `order()` gives the writer the final order. */
export class Insertions {
  length = 0;
  readonly insertion: Insertion[] = [];
  /** Bytes of the original that each of them replaces. */
  replaces = new Int32Array(1024);
  /** Four times the position, plus what comes first there. */
  #key = new Int32Array(1024);
  #order = new Int32Array(1024);

  clear(): void {
    this.length = 0;
  }

  add(position: number, insertion: Insertion): void {
    this.#add(position * 4 + USUAL, insertion, 0);
  }

  /**
   * As `add`, but before everything else at that place. For what is added late behind an access and uses its address: the
   * access's result may be an address too, which is then kept there, in the same temporary.
   */
  addEarly(position: number, insertion: Insertion): void {
    this.#add(position * 4 + EARLY, insertion, 0);
  }

  /**
   * As `add`, but behind everything else at that place except for a replacement. For what pushes operands of the function
   * that is called instead of the instruction, and for what opens a block around it: other passes may still ask to keep
   * the value that is on top of the stack there.
   */
  addLate(position: number, insertion: Insertion): void {
    this.#add(position * 4 + LATE, insertion, 0);
  }

  /** Puts it in the place of the original's code at `[start, end)`. */
  replace(start: number, end: number, insertion: Insertion): void {
    this.#add(start * 4 + LATE, insertion, end - start);
  }

  /** Position of an insertion by its index. */
  positionOf(index: number): number {
    return this.#key[index] >>> 2;
  }

  /**
   * Indices of all insertions by position. Those at one position keep the order in which they were added, except that
   * early ones come first, and late ones and the replacement of the instruction that starts there come last.
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
