import { followedMemory } from "../../followed-memory.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { type WasteDescription, wasteDescription } from "../description.ts";
import { Control, INIT_BUFFER_BYTES } from "../layout.ts";
import { WasiRanges } from "./wasi-ranges.ts";

/** What a part of the memory held before a call of the host. */
interface Kept {
  address: number;
  bytes: Uint8Array;
}

/** Exports of a module with the waste tool that take what the host writes in pieces, with what was there before. */
export interface WriteTargets {
  /** Behind the write: `size` bytes that were at `address` are in the buffer; `done` bytes of the write came before. */
  hostWriting(address: number, size: number, done: number): void;
  hostWroteOver(address: number, size: number): void;
}

/** Compares what the host writes with what was there: such a write can be silent as any store of the program. */
export class HostWrites {
  readonly #targets: WriteTargets;
  readonly #shadow: WebAssembly.Memory;
  readonly #buffer: number;

  constructor(shadow: WebAssembly.Memory, layout: WasteDescription, targets: WriteTargets) {
    this.#targets = targets;
    this.#shadow = shadow;
    this.#buffer = layout.control + Control.initBytes;
  }

  /** Before the call: what lies in `ranges`, as far as that is memory. */
  keep(memory: Uint8Array, ranges: readonly (readonly [address: number, bytes: number])[]): Kept[] {
    return ranges.map(([address, bytes]) => ({ address, bytes: memory.slice(address, address + bytes) }));
  }

  /** Behind the call: tells of `size` bytes written at `address`. False if not all of them were kept. */
  tell(kept: readonly Kept[], address: number, size: number): boolean {
    const before = kept.find((one) => one.address === address && one.bytes.length >= size);
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

export const WASI_MODULES: readonly string[] = ["wasi_snapshot_preview1", "wasi_unstable"];

type HostFunction = (...operands: unknown[]) => unknown;
type Report = (address: number, bytes: number) => void;

/** Imports whose WASI functions tell the tools what they read and write, once the instance is connected. */
export interface ObservedImports {
  imports: WebAssembly.Imports;
  connect(exports: WebAssembly.Exports): void;
}

/** Tools that want to know. */
const LISTENERS = ["heap", "waste", "workingset"] as const;

/** Wraps the WASI functions of an import object for a module with such a tool; other modules' stay as they are. */
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
        if (before === undefined || !hostWrites?.tell(before, address, bytes)) wasteWrote?.(address, bytes);
      }
      return result;
    };

  const observed: WebAssembly.Imports = { ...imports };
  for (const module of wasi) {
    // What the host makes when it is asked for stays reachable behind the functions that are observed.
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
      // deadstores does not compare what the kernel writes.
      if (layout === undefined || layout.compat === "deadstores") return;
      hostWrites = new HostWrites(exports["memshade.waste"] as WebAssembly.Memory, layout, {
        hostWriting: listener("waste", "hostWriting") as unknown as WriteTargets["hostWriting"],
        hostWroteOver: listener("waste", "hostWroteOver") as Report,
      });
    },
  };
}
