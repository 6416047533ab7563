import type { SuspendedFrames } from "./suspended-frames.ts";
import { toldFunction } from "./told-function.ts";

type HostFunction = (...operands: unknown[]) => unknown;

/** A call by which a module asks the host. */
export interface HostCall {
  /** From the empty stack to the frame that has called. */
  bytes: number;
  /** The function that was called. */
  host: unknown;
}

/**
 * Modules that Binaryen's Asyncify has prepared leave a call to wait for the host, and are called again by whoever has waited, to go on
 * in it. They are told by functions that they export: so the call that goes on has the callers of the one that was left.
 */
export class RewoundCalls {
  readonly #frames: SuspendedFrames;
  readonly #newest: () => HostCall;
  /** Sites of the entries that were left, by the address at which the module keeps what it needs to go on. */
  readonly #left = new Map<unknown, number>();
  #rewinding: unknown;

  /** `newest`: the call of the host that has not returned. */
  constructor(frames: SuspendedFrames, newest: () => HostCall) {
    this.#frames = frames;
    this.#newest = newest;
  }

  /** What the program is to see of an exported function. */
  exported(name: string, value: WebAssembly.ExportValue): WebAssembly.ExportValue {
    const told = this.#told(name);
    return told === undefined || typeof value !== "function"
      ? value
      : toldFunction(value as HostFunction, told);
  }

  #told(name: string): HostFunction | undefined {
    switch (name) {
      case "asyncify_start_unwind":
        return (data) => {
          const { bytes, host } = this.#newest();
          this.#left.set(data, this.#frames.entryAt(bytes, host));
        };
      case "asyncify_start_rewind":
        return (data) => {
          this.#rewinding = data;
        };
      case "asyncify_stop_rewind":
        return () => {
          const site = this.#left.get(this.#rewinding) ?? 0;
          this.#left.delete(this.#rewinding);
          if (site !== 0) this.#frames.setEntryAt(this.#newest().bytes, site);
        };
      default:
        return undefined;
    }
  }
}
