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
  readonly #gone: FinalizationRegistry<string>;

  /** `isInProgram`: code of the program is on the stack. `dropped` is told of instances that are gone. */
  constructor(isInProgram: () => boolean, dropped: (id: string) => void) {
    this.#isInProgram = isInProgram;
    this.#gone = new FinalizationRegistry((id) => {
      this.#memories.delete(id);
      dropped(id);
    });
  }

  /**
   * Whether the instance has a memory of its own: without one it costs nothing, and those that are shared are others'. `exports`: what the
   * program sees.
   */
  add(id: string, exports: Readonly<Record<string, unknown>>): boolean {
    const memory = Object.values(exports).find(isOwnMemory);
    if (memory === undefined) return false;
    this.#memories.set(id, new WeakRef(memory));
    this.#gone.register(memory, id);
    return true;
  }

  /**
   * Those that are still there, after the engine has collected its garbage; undefined where that is not known. As long as code runs,
   * the engine keeps what that code has made.
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
  // Not by `instanceof`: it may come from another context of this thread.
  return (
    Object.prototype.toString.call(value) === "[object WebAssembly.Memory]" &&
    Object.prototype.toString.call((value as WebAssembly.Memory).buffer) === "[object ArrayBuffer]"
  );
}
