import { Control } from "../../tools/heap/layout.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/index.ts";

/** The shadow memory of instances that share their memory. */
export interface SharedShadow {
  memory: WebAssembly.Memory;
  /** Names it in this process. */
  group: string;
}

interface Entry extends SharedShadow {
  /** A view of the memory it shadows. */
  words: Int32Array;
  module: string;
}

const PAGE_BYTES = 65536;
// The program's memories are watched where that class is replaced, and these are none of them.
const { Memory } = WebAssembly;
/** Nobody waits at the null address: a wait there disturbs no program. */
const NULL_WORD = 0;
const WAIT_MS = 1000;

/**
 * Whether two views are of one memory, whatever objects stand for it in whatever threads. Found out without a write:
 * one view waits, the other wakes.
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

/** A shadow memory for instances of a module that imports it. */
export function newShadow({ layout, clock }: InstrumentedInfo): WebAssembly.Memory {
  const memory = shadowOf(layout);
  if (layout !== undefined && clock === "wall")
    new DataView(memory.buffer, layout.control).setFloat64(Control.start, Date.now(), true);
  return memory;
}

export function shadowOf(layout: ShadowLayout | undefined): WebAssembly.Memory {
  const pages = (layout?.endBytes ?? 0) / PAGE_BYTES;
  return new Memory({ initial: pages, maximum: pages, shared: true });
}

/** Finds the shadow memory for each memory that several instances have: one per module and memory. */
export class SharedShadows {
  #entries: Entry[] = [];
  #next = 0;

  /** @param module names the module among all of the process. */
  find(program: WebAssembly.Memory, module: string, info: InstrumentedInfo): SharedShadow {
    const words = new Int32Array(program.buffer);
    const known = this.#entries.find((entry) => entry.module === module && areSame(entry.words, words));
    if (known !== undefined) return known;
    const entry = { memory: newShadow(info), group: `${++this.#next}`, words, module };
    this.#entries.push(entry);
    return entry;
  }

  /** Forgets those that are used no more; the newest may not be used yet. */
  forget(isUsed: (group: string) => boolean): void {
    this.#entries = this.#entries.filter((entry, i, all) => i + 1 === all.length || isUsed(entry.group));
  }
}
