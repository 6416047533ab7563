import { followedMemory } from "../../followed-memory.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { type WasteDescription, wasteDescription } from "../description.ts";
import { Control, INIT_BUFFER_BYTES } from "../layout.ts";

export const WASI_MODULES: readonly string[] = ["wasi_snapshot_preview1", "wasi_unstable"];

type HostFunction = (...operands: unknown[]) => unknown;
type Report = (address: number, bytes: number) => void;

/** Imports whose WASI functions report their reads and writes to the tools, once the instance is connected. */
export interface ObservedImports {
  imports: WebAssembly.Imports;
  connect(exports: WebAssembly.Exports): void;
}

const LISTENERS = ["heap", "waste", "workingset"] as const;

/**
 * Wraps the WASI functions of an import object if the module has such a tool. Imports from other modules are not
 * wrapped.
 */
export function observeImports(
  imports: WebAssembly.Imports | undefined,
  info: InstrumentedInfo,
): ObservedImports | undefined {
  const tools = LISTENERS.filter(
    (tool) => info.toolLayouts?.[tool] !== undefined || (tool === "heap" && info.layout !== undefined),
  );
  if (imports === undefined || tools.length === 0) return undefined;
  const wasi = WASI_MODULES.filter((module) => typeof imports[module] === "object");
  if (wasi.length === 0) return undefined;
  let memory: WebAssembly.Memory | undefined;
  let hostRead: Report[] = [];
  let hostWrote: Report[] = [];
  let wasteWrote: Report | undefined;
  let hostWrites: HostWrites | undefined;
  const ranges = new WasiRanges(
    () => new DataView((memory as WebAssembly.Memory).buffer),
    info.memory64 === true,
  );

  const observe = (name: string, call: HostFunction): HostFunction =>
    function observed(...operands: unknown[]): unknown {
      const before =
        hostWrites === undefined || memory === undefined
          ? undefined
          : hostWrites.keep(new Uint8Array(memory.buffer), ranges.mayWrite(name, operands));
      const result = call(...operands);
      if (memory === undefined) return result;
      const { reads, writes } = ranges.touched(name, operands, result);
      for (const [address, bytes] of reads) for (const report of hostRead) report(address, bytes);
      for (const [address, bytes] of writes) {
        for (const report of hostWrote) report(address, bytes);
        if (before === undefined || !hostWrites?.report(before, address, bytes)) wasteWrote?.(address, bytes);
      }
      return result;
    };

  const observed: WebAssembly.Imports = { ...imports };
  for (const module of wasi) {
    // Properties that the host creates on access stay reachable through the prototype.
    const functions: Record<string, WebAssembly.ImportValue> = Object.create(imports[module]);
    for (const [name, value] of Object.entries(imports[module]))
      if (typeof value === "function" && WasiRanges.knows(name))
        functions[name] = observe(name, value as HostFunction);
    observed[module] = functions;
  }
  return {
    imports: observed,
    connect(exports) {
      memory = followedMemory(info, imports, exports);
      const listener = (tool: string, event: string) =>
        exports[`memshade.${tool}.${event}`] as Report | undefined;
      hostRead = tools.flatMap((tool) => listener(tool, "hostRead") ?? []);
      hostWrote = [listener("workingset", "hostWrote")].filter((report) => report !== undefined);
      wasteWrote = listener("waste", "hostWrote");
      const layout = wasteDescription(info);
      // deadstores does not compare the bytes that the kernel writes.
      if (layout === undefined || layout.compat === "deadstores") return;
      hostWrites = new HostWrites(exports["memshade.waste"] as WebAssembly.Memory, layout, {
        hostWriting: listener("waste", "hostWriting") as unknown as WriteTargets["hostWriting"],
        hostWroteOver: listener("waste", "hostWroteOver") as Report,
      });
    },
  };
}

/** Ranges of memory that one WASI call accesses: [address, bytes] each. */
export interface TouchedRanges {
  reads: [number, number][];
  writes: [number, number][];
}

/**
 * Access through a pointer parameter of a WASI function. Numbers are indices of parameters; `bytes` is a number of
 * bytes.
 */
type Effect =
  /** Reads as many bytes as the parameter `length` has. */
  | { in: number; length: number }
  | { out: number; bytes: number }
  | { out: number; length: number }
  /** Writes as many bytes as the call stored at another pointer, which it writes as well. */
  | { out: number; used: number }
  | { gathers: number; count: number; done: number }
  /** Writes to buffers as many bytes as the call stored at `done`. */
  | { scatters: number; count: number; done: number };

const path = (at: number): Effect => ({ in: at, length: at + 1 });
const out = (at: number, bytes: number): Effect => ({ out: at, bytes });
/** Number of bytes that stands for the size of a `size`: 4 or 8. */
const SIZE = 0;

/**
 * Functions of WASI preview 1 that access memory, by their parameters from 0. `args_get`, `environ_get` and
 * `poll_oneoff` are handled apart.
 */
const EFFECTS: Readonly<Record<string, readonly Effect[]>> = {
  args_sizes_get: [out(0, SIZE), out(1, SIZE)],
  environ_sizes_get: [out(0, SIZE), out(1, SIZE)],
  clock_res_get: [out(1, 8)],
  clock_time_get: [out(2, 8)],
  fd_fdstat_get: [out(1, 24)],
  fd_filestat_get: [out(1, 64)],
  fd_pread: [{ scatters: 1, count: 2, done: 4 }],
  fd_prestat_get: [out(1, 8)],
  fd_prestat_dir_name: [{ out: 1, length: 2 }],
  fd_pwrite: [{ gathers: 1, count: 2, done: 4 }],
  fd_read: [{ scatters: 1, count: 2, done: 3 }],
  fd_readdir: [{ out: 1, used: 4 }],
  fd_seek: [out(3, 8)],
  fd_tell: [out(1, 8)],
  fd_write: [{ gathers: 1, count: 2, done: 3 }],
  path_create_directory: [path(1)],
  path_filestat_get: [path(2), out(4, 64)],
  path_filestat_set_times: [path(2)],
  path_link: [path(2), path(5)],
  path_open: [path(2), out(8, 4)],
  path_readlink: [path(1), { out: 3, used: 5 }],
  path_remove_directory: [path(1)],
  path_rename: [path(1), path(4)],
  path_symlink: [path(0), path(3)],
  path_unlink_file: [path(1)],
  random_get: [{ out: 0, length: 1 }],
  sock_accept: [out(2, 4)],
  sock_recv: [{ scatters: 1, count: 2, done: 4 }, out(5, 2)],
  sock_send: [{ gathers: 1, count: 2, done: 4 }],
};

const SUBSCRIPTION_BYTES = 48;
const EVENT_BYTES = 32;

export class WasiRanges {
  readonly #memory: () => DataView;
  /** Bytes of a pointer, and of a size. */
  readonly #word: number;
  readonly #sizes = new Map<string, [number, number]>();

  /** `memory` returns a current view of the program's memory; `memory64`: the program was built for 64 bits. */
  constructor(memory: () => DataView, memory64 = false) {
    this.#memory = memory;
    this.#word = memory64 ? 8 : 4;
  }

  /** True if the accesses of a function are known here. Later versions of WASI may have other functions. */
  static knows(name: string): boolean {
    return name in EFFECTS || /^(args_get|environ_get|poll_oneoff)$/.test(name);
  }

  /** Returns the ranges that a call may write. Must be called before it. Ranges may be partly outside of the memory. */
  mayWrite(name: string, operands: readonly unknown[]): [number, number][] {
    const at = (parameter: number): number => Number(operands[parameter]) >>> 0;
    if (name === "args_get" || name === "environ_get") {
      const [count, bytes] = this.#sizesFor(name);
      return [
        [at(0), count * this.#word],
        [at(1), bytes],
      ];
    }
    if (name === "poll_oneoff")
      return [
        [at(1), at(2) * EVENT_BYTES],
        [at(3), this.#word],
      ];
    const word = this.#wordReader();
    const vector = 2 * this.#word;
    const ranges: [number, number][] = [];
    for (const effect of EFFECTS[name] ?? []) {
      if ("in" in effect) continue;
      if ("gathers" in effect || "scatters" in effect) {
        const count = "scatters" in effect ? at(effect.count) : 0;
        const vectors = "scatters" in effect ? at(effect.scatters) : 0;
        for (let i = 0; i < count && vectors + (i + 1) * vector <= this.#memory().byteLength; i++)
          ranges.push([word(vectors + i * vector), word(vectors + i * vector + this.#word)]);
        ranges.push([at(effect.done), this.#word]);
        // The length of a buffer follows its address in the parameters.
      } else if ("used" in effect)
        ranges.push([at(effect.out), at(effect.out + 1)], [at(effect.used), this.#word]);
      else ranges.push([at(effect.out), "bytes" in effect ? effect.bytes || this.#word : at(effect.length)]);
    }
    return ranges;
  }

  #wordReader(): (address: number) => number {
    const view = this.#memory();
    // The upper half of a size or address is zero in memories below 4 GiB.
    return (address) => (address + 4 <= view.byteLength ? view.getUint32(address, true) : 0);
  }

  #sizesFor(name: string): [number, number] {
    return this.#sizes.get(name.replace("_get", "_sizes_get")) ?? [0, 0];
  }

  /**
   * Returns the ranges that a call accessed. Must be called after it. A call that failed has read its arguments and
   * written nothing.
   */
  touched(name: string, operands: readonly unknown[], result: unknown): TouchedRanges {
    const ranges: TouchedRanges = { reads: [], writes: [] };
    const succeeded = result === 0;
    const at = (parameter: number): number => Number(operands[parameter]) >>> 0;
    const word = this.#wordReader();
    const vector = 2 * this.#word;
    const write = (address: number, bytes: number): void => {
      if (succeeded && bytes > 0) ranges.writes.push([address, bytes]);
    };
    if (name === "args_get" || name === "environ_get") {
      const [count, bytes] = this.#sizesFor(name);
      write(at(0), count * this.#word);
      write(at(1), bytes);
    } else if (name === "poll_oneoff") {
      ranges.reads.push([at(0), at(2) * SUBSCRIPTION_BYTES]);
      write(at(1), word(at(3)) * EVENT_BYTES);
      write(at(3), this.#word);
    }
    for (const effect of EFFECTS[name] ?? [])
      if ("in" in effect) ranges.reads.push([at(effect.in), at(effect.length)]);
      else if ("gathers" in effect || "scatters" in effect) {
        const vectors = at("gathers" in effect ? effect.gathers : effect.scatters);
        const count = at(effect.count);
        ranges.reads.push([vectors, count * vector]);
        let remaining = succeeded ? word(at(effect.done)) : 0;
        for (let i = 0; i < count && remaining > 0; i++) {
          const bytes = Math.min(remaining, word(vectors + i * vector + this.#word));
          const range: [number, number] = [word(vectors + i * vector), bytes];
          if (bytes > 0) ("gathers" in effect ? ranges.reads : ranges.writes).push(range);
          remaining -= bytes;
        }
        write(at(effect.done), this.#word);
      } else if ("used" in effect) {
        write(at(effect.out), word(at(effect.used)));
        write(at(effect.used), this.#word);
      } else write(at(effect.out), "bytes" in effect ? effect.bytes || this.#word : at(effect.length));
    if (succeeded && name.endsWith("_sizes_get")) this.#sizes.set(name, [word(at(0)), word(at(1))]);
    return ranges;
  }
}

interface Kept {
  address: number;
  bytes: Uint8Array;
}

/** Exports of a module with the waste tool that take the host's writes in pieces, with the bytes from before. */
interface WriteTargets {
  /**
   * Called after the write. The buffer has the `size` bytes from before at `address`; `done` bytes of the write
   * preceded them.
   */
  hostWriting(address: number, size: number, done: number): void;
  hostWroteOver(address: number, size: number): void;
}

/** Compares the host's writes with the bytes from before, since such a write can be silent too. */
class HostWrites {
  readonly #targets: WriteTargets;
  readonly #shadow: WebAssembly.Memory;
  readonly #buffer: number;

  constructor(shadow: WebAssembly.Memory, layout: WasteDescription, targets: WriteTargets) {
    this.#targets = targets;
    this.#shadow = shadow;
    this.#buffer = layout.control + Control.initBytes;
  }

  /** Called before the host's call. Copies the bytes in `ranges`, as far as they are inside of the memory. */
  keep(memory: Uint8Array, ranges: readonly (readonly [address: number, bytes: number])[]): Kept[] {
    return ranges.map(([address, bytes]) => ({ address, bytes: memory.slice(address, address + bytes) }));
  }

  /**
   * Called after the host's call. Reports `size` bytes written at `address`; returns false if not all of them were
   * kept.
   */
  report(kept: readonly Kept[], address: number, size: number): boolean {
    const before = kept.find((range) => range.address === address && range.bytes.length >= size);
    if (before === undefined) return false;
    for (let done = 0; done < size; done += INIT_BUFFER_BYTES) {
      const piece = before.bytes.subarray(done, Math.min(size, done + INIT_BUFFER_BYTES));
      new Uint8Array(this.#shadow.buffer).set(piece, this.#buffer);
      this.#targets.hostWriting(address + done, piece.length, done);
    }
    this.#targets.hostWroteOver(address, size);
    return true;
  }
}
