import { collectGarbage } from "../instance/host-calls.ts";

export interface KeptInstance {
  readonly id: string;
  readonly bytes: number;
}

/** Instances of one thread. Each is represented by its memory, which is collected together with it. */
export class MadeInstances {
  readonly #memories = new Map<string, WeakRef<WebAssembly.Memory>>();
  readonly #isInProgram: () => boolean;
  readonly #gone: FinalizationRegistry<string>;

  /**
   * `isInProgram` returns true if code of the program is on the stack. `dropped` is called for instances that are gone.
   */
  constructor(isInProgram: () => boolean, dropped: (id: string) => void) {
    this.#isInProgram = isInProgram;
    this.#gone = new FinalizationRegistry((id) => {
      this.#memories.delete(id);
      dropped(id);
    });
  }

  /**
   * Adds an instance. Returns false if it has no memory of its own: then it costs nothing, or the memory belongs to
   * others. `exports` are those that the program sees.
   */
  add(id: string, exports: Readonly<Record<string, unknown>>): boolean {
    const memory = Object.values(exports).find(isOwnMemory);
    if (memory === undefined) return false;
    this.#memories.set(id, new WeakRef(memory));
    this.#gone.register(memory, id);
    return true;
  }

  /**
   * Returns the instances that still exist after a garbage collection; undefined if unknown. While code runs, the
   * engine keeps the objects that it has created.
   */
  kept(): KeptInstance[] | undefined {
    if (this.#memories.size < 2 || this.#isInProgram() || !collectGarbage()) return undefined;
    return [...this.#memories].flatMap(([id, reference]) => {
      const bytes = reference.deref()?.buffer.byteLength;
      return bytes === undefined ? [] : [{ id, bytes }];
    });
  }
}

function isOwnMemory(value: unknown): value is WebAssembly.Memory {
  // `instanceof` would fail for objects from another context of this thread.
  return (
    Object.prototype.toString.call(value) === "[object WebAssembly.Memory]" &&
    Object.prototype.toString.call((value as WebAssembly.Memory).buffer) === "[object ArrayBuffer]"
  );
}
