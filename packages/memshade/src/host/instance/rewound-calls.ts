import type { SuspendedFrames } from "./suspended-frames.ts";

type HostFunction = (...operands: unknown[]) => unknown;

/**
 * Modules that Binaryen's Asyncify has prepared leave a call to wait for the host, and are called again by whoever has waited, to go on
 * in it. They are told by functions that they export: so the call that goes on has the callers of the one that was left.
 */
export class RewoundCalls {
  readonly #frames: SuspendedFrames;
  readonly #newest: () => number;
  /** Sites of the entries that were left, by the address at which the module keeps what it needs to go on. */
  readonly #left = new Map<unknown, number>();
  #rewinding: unknown;

  /** `newest`: bytes from the empty stack to the frame that has called the host. */
  constructor(frames: SuspendedFrames, newest: () => number) {
    this.#frames = frames;
    this.#newest = newest;
  }

  /** What the program is to see of an exported function. */
  exported(name: string, value: WebAssembly.ExportValue): WebAssembly.ExportValue {
    const told = this.#told(name);
    if (told === undefined || typeof value !== "function") return value;
    const proxy: HostFunction = new Proxy(value as HostFunction, {
      apply(target, self, operands) {
        told(operands[0], proxy);
        return Reflect.apply(target, self, operands);
      },
    });
    return proxy;
  }

  #told(name: string): ((data: unknown, below: unknown) => void) | undefined {
    switch (name) {
      case "asyncify_start_unwind":
        return (data, below) => void this.#left.set(data, this.#frames.entryAt(this.#newest(), below));
      case "asyncify_start_rewind":
        return (data) => {
          this.#rewinding = data;
        };
      case "asyncify_stop_rewind":
        return () => {
          const site = this.#left.get(this.#rewinding) ?? 0;
          this.#left.delete(this.#rewinding);
          if (site !== 0) this.#frames.setEntryAt(this.#newest(), site);
        };
      default:
        return undefined;
    }
  }
}
