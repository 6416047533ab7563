/** Environment of a program. Clock and random numbers are fixed, so that every run is the same. */
export interface WasiOptions {
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  stdin?: Uint8Array;
}

/** End of a program: by returning or `proc_exit` (exit), by a trap, or by an exception that left the module. */
export type WasiEnd =
  | { kind: "exit"; exitCode: number }
  | { kind: "trap" | "exception"; message: string; frames: string[] };

const ERRNO = { success: 0, badf: 8, inval: 28, noent: 44, nosys: 52, notsup: 58, spipe: 70 };
const CHARACTER_DEVICE = 2;

class ProgramExit extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/**
 * A deterministic WASI preview 1 host without a file system: arguments, environment, standard streams in memory,
 * a clock that ticks a millisecond per reading, and a fixed random sequence.
 */
export class MemoryWasi {
  readonly #options: WasiOptions;
  readonly #output: Uint8Array[][] = [[], [], []];
  #stdinOffset = 0;
  #clock = 1_700_000_000_000_000_000n;
  #random = 42;
  #memory: WebAssembly.Memory | undefined;

  constructor(options: WasiOptions) {
    this.#options = options;
  }

  /** The import object; preview 1 functions that are not implemented return ENOSYS. */
  get imports(): WebAssembly.Imports {
    const served = this.#functions();
    const wasi = new Proxy(served, {
      get: (functions, name) => functions[name as string] ?? (() => ERRNO.nosys),
    });
    return { wasi_snapshot_preview1: wasi, wasi_unstable: wasi };
  }

  /** Runs a command's `_start`, or a reactor's `_initialize`, and returns its end. */
  start(instance: WebAssembly.Instance): WasiEnd {
    const exports = instance.exports as Record<string, WebAssembly.ExportValue>;
    this.#memory = exports.memory as WebAssembly.Memory;
    const entry = exports._start ?? exports._initialize;
    try {
      if (typeof entry === "function") entry();
      return { kind: "exit", exitCode: 0 };
    } catch (thrown) {
      return describeEnd(thrown);
    }
  }

  /** Bytes written to file descriptor 1 or 2 so far. */
  output(descriptor: 1 | 2): Uint8Array {
    return new Uint8Array(Buffer.concat(this.#output[descriptor] ?? []));
  }

  #view(): DataView {
    return new DataView((this.#memory as WebAssembly.Memory).buffer);
  }

  #functions(): Record<string, (...args: never[]) => number> {
    const strings = (list: readonly string[]) => list.map((text) => new TextEncoder().encode(`${text}\0`));
    const args = strings(this.#options.args);
    const env = strings(Object.entries(this.#options.env ?? {}).map(([key, value]) => `${key}=${value}`));
    const writeSizes = (list: Uint8Array[]) => (count: number, size: number) => {
      this.#view().setUint32(count, list.length, true);
      this.#view().setUint32(
        size,
        list.reduce((sum, item) => sum + item.length, 0),
        true,
      );
      return ERRNO.success;
    };
    const writeStrings = (list: Uint8Array[]) => (pointers: number, buffer: number) => {
      const view = this.#view();
      for (const item of list) {
        view.setUint32(pointers, buffer, true);
        new Uint8Array(view.buffer).set(item, buffer);
        pointers += 4;
        buffer += item.length;
      }
      return ERRNO.success;
    };
    return {
      args_sizes_get: writeSizes(args),
      args_get: writeStrings(args),
      environ_sizes_get: writeSizes(env),
      environ_get: writeStrings(env),
      fd_write: (descriptor: number, vectors: number, count: number, written: number) =>
        this.#write(descriptor, vectors, count, written),
      fd_read: (descriptor: number, vectors: number, count: number, read: number) =>
        this.#read(descriptor, vectors, count, read),
      fd_fdstat_get: (descriptor: number, stat: number) => {
        if (descriptor > 2) return ERRNO.badf;
        const view = this.#view();
        view.setUint8(stat, CHARACTER_DEVICE);
        view.setUint16(stat + 2, 0, true);
        view.setBigUint64(stat + 8, 0x1fff_ffffn, true);
        view.setBigUint64(stat + 16, 0x1fff_ffffn, true);
        return ERRNO.success;
      },
      fd_filestat_get: (descriptor: number, stat: number) => {
        if (descriptor > 2) return ERRNO.badf;
        new Uint8Array(this.#view().buffer, stat, 64).fill(0);
        this.#view().setUint8(stat + 16, CHARACTER_DEVICE);
        return ERRNO.success;
      },
      fd_fdstat_set_flags: () => ERRNO.success,
      fd_prestat_get: () => ERRNO.badf,
      fd_prestat_dir_name: () => ERRNO.badf,
      fd_seek: (descriptor: number) => (descriptor > 2 ? ERRNO.badf : ERRNO.spipe),
      fd_close: (descriptor: number) => (descriptor > 2 ? ERRNO.badf : ERRNO.success),
      path_open: () => ERRNO.noent,
      path_filestat_get: () => ERRNO.noent,
      clock_res_get: (_clock: number, resolution: number) => {
        this.#view().setBigUint64(resolution, 1_000_000n, true);
        return ERRNO.success;
      },
      clock_time_get: (_clock: number, _precision: bigint, time: number) => {
        this.#clock += 1_000_000n;
        this.#view().setBigUint64(time, this.#clock, true);
        return ERRNO.success;
      },
      random_get: (buffer: number, length: number) => {
        const bytes = new Uint8Array(this.#view().buffer, buffer, length);
        for (let i = 0; i < length; i++) {
          this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0;
          bytes[i] = this.#random >>> 24;
        }
        return ERRNO.success;
      },
      sched_yield: () => ERRNO.success,
      proc_exit: (exitCode: number) => {
        throw new ProgramExit(exitCode);
      },
    };
  }

  #write(descriptor: number, vectors: number, count: number, written: number): number {
    const sink = descriptor === 1 || descriptor === 2 ? this.#output[descriptor] : undefined;
    if (sink === undefined) return ERRNO.badf;
    const view = this.#view();
    let total = 0;
    for (let i = 0; i < count; i++) {
      const start = view.getUint32(vectors + i * 8, true);
      const length = view.getUint32(vectors + i * 8 + 4, true);
      sink.push(new Uint8Array(view.buffer, start, length).slice());
      total += length;
    }
    view.setUint32(written, total, true);
    return ERRNO.success;
  }

  #read(descriptor: number, vectors: number, count: number, read: number): number {
    if (descriptor !== 0) return ERRNO.badf;
    const view = this.#view();
    const stdin = this.#options.stdin ?? new Uint8Array(0);
    let total = 0;
    for (let i = 0; i < count; i++) {
      const start = view.getUint32(vectors + i * 8, true);
      const length = view.getUint32(vectors + i * 8 + 4, true);
      const chunk = stdin.subarray(this.#stdinOffset, this.#stdinOffset + length);
      new Uint8Array(view.buffer).set(chunk, start);
      this.#stdinOffset += chunk.length;
      total += chunk.length;
      if (chunk.length < length) break;
    }
    view.setUint32(read, total, true);
    return ERRNO.success;
  }
}

/** Distinguishes an exit, a trap (also exhaustion of the stack) and a thrown exception. */
export function describeEnd(thrown: unknown): WasiEnd {
  if (thrown instanceof ProgramExit) return { kind: "exit", exitCode: thrown.exitCode };
  if (thrown instanceof WebAssembly.RuntimeError || thrown instanceof RangeError)
    return { kind: "trap", message: thrown.message, frames: wasmFrames(thrown) };
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return { kind: "exception", message, frames: [] };
}

/**
 * The wasm functions on an error's stack, innermost first, as `name[index]`. Functions that instrumentation added have indices
 * behind the program's own: `programFrames` drops them.
 */
function wasmFrames(error: Error): string[] {
  const frames: string[] = [];
  for (const line of (error.stack ?? "").split("\n")) {
    const frame = /^\s+at (.*?) ?\(?wasm:\/\/[^)]*?wasm-function\[(\d+)\]/.exec(line);
    if (frame) frames.push(`${frame[1]}[${frame[2]}]`);
  }
  return frames;
}

/** Frames of the program's own functions, of which there are `functionCount`; repeats in a row once. */
export function programFrames(frames: readonly string[], functionCount: number): string[] {
  const indexOf = (frame: string) => Number(/\[(\d+)\]$/.exec(frame)?.[1]);
  return [...new Set(frames.filter((frame) => indexOf(frame) < functionCount))];
}
