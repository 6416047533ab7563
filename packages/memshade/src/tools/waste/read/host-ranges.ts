import { followedMemory } from "../../followed-memory.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { wasteDescription } from "../description.ts";
import { HostWrites, type WriteTargets } from "./host-writes.ts";
import { WasiRanges } from "./wasi-ranges.ts";

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
