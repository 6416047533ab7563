import { WASM_PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { Control } from "../../tools/heap/layout.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/index.ts";

/** The shadow memory of instances that share their memory. */
export interface SharedShadow {
  memory: WebAssembly.Memory;
  /** Identifies the memory in this process. */
  group: string;
}

interface Entry extends SharedShadow {
  /** A view of the program's memory. */
  words: Int32Array;
  module: string;
}

// Captured before the class is replaced: the program's memories are watched, shadow memories are not.
const { Memory } = WebAssembly;
/** Word used for the test. Programs do not wait at the null address, so the test disturbs no program. */
const NULL_WORD = 0;
const WAIT_MS = 1000;

/**
 * True if two views are of one memory, even if different objects in different threads represent it. The test does not write:
 * one view waits, the other wakes it.
 */
export function areSame(first: Int32Array, second: Int32Array): boolean {
  if (first.length === 0 || second.length === 0) return false;
  for (;;) {
    const waiting = Atomics.waitAsync(first, NULL_WORD, Atomics.load(first, NULL_WORD), WAIT_MS);
    // The program has just written there.
    if (!waiting.async) continue;
    const woken = Atomics.notify(second, NULL_WORD, 1) === 1;
    if (!woken) Atomics.notify(first, NULL_WORD, 1);
    return woken;
  }
}

/** Makes a shadow memory for instances of a module that imports it. */
export function newShadow({ layout, clock }: InstrumentedInfo): WebAssembly.Memory {
  const memory = shadowOf(layout);
  if (layout !== undefined && clock === "wall")
    new DataView(memory.buffer, layout.control).setFloat64(Control.start, Date.now(), true);
  return memory;
}

export function shadowOf(layout: ShadowLayout | undefined): WebAssembly.Memory {
  const pages = (layout?.endBytes ?? 0) / WASM_PAGE_BYTES;
  return new Memory({ initial: pages, maximum: pages, shared: true });
}

/** Finds the shadow memory for each memory that several instances have: one per module and memory. */
export class SharedShadows {
  #entries: Entry[] = [];
  #next = 0;

  /** @param module identifies the module in the process. */
  find(program: WebAssembly.Memory, module: string, info: InstrumentedInfo): SharedShadow {
    const words = new Int32Array(program.buffer);
    const known = this.#entries.find((entry) => entry.module === module && areSame(entry.words, words));
    if (known !== undefined) return known;
    const entry = { memory: newShadow(info), group: `${++this.#next}`, words, module };
    this.#entries.push(entry);
    return entry;
  }

  /** Forgets unused entries. The newest entry stays: it may not be in use yet. */
  forget(isUsed: (group: string) => boolean): void {
    this.#entries = this.#entries.filter((entry, i, all) => i + 1 === all.length || isUsed(entry.group));
  }
}
