import { collectGarbage } from "../instance/host-calls.ts";

/** An instance that its thread has found to be there. */
export interface KeptInstance {
  readonly id: string;
  /** Of its memory. */
  readonly bytes: number;
}

/** The instances of one thread, by their memories: these go with them. */
export class MadeInstances {
  readonly #memories = new Map<string, WeakRef<WebAssembly.Memory>>();
  readonly #isInProgram: () => boolean;

  /** `isInProgram`: code of the program is on the stack. */
  constructor(isInProgram: () => boolean) {
    this.#isInProgram = isInProgram;
  }

  /** `exports`: what the program sees. Without a memory of its own an instance costs nothing; others have those that are shared. */
  add(id: string, exports: Readonly<Record<string, unknown>>): void {
    const memory = Object.values(exports).find(isOwnMemory);
    if (memory !== undefined) this.#memories.set(id, new WeakRef(memory));
  }

  /**
   * Those that are still there, after the engine has collected its garbage; undefined where that is not known. As long as code runs,
   * the engine keeps what that code has made.
   */
  kept(): KeptInstance[] | undefined {
    if (this.#memories.size < 2 || this.#isInProgram() || !collectGarbage()) return undefined;
    return [...this.#memories].flatMap(([id, reference]) => {
      const memory = reference.deref();
      if (memory === undefined) this.#memories.delete(id);
      return memory === undefined ? [] : [{ id, bytes: memory.buffer.byteLength }];
    });
  }
}

function isOwnMemory(value: unknown): value is WebAssembly.Memory {
  // Not by `instanceof`: it may come from another context of this thread.
  return (
    Object.prototype.toString.call(value) === "[object WebAssembly.Memory]" &&
    Object.prototype.toString.call((value as WebAssembly.Memory).buffer) === "[object ArrayBuffer]"
  );
}
