import type { WasteFile } from "../../src/profile/model/waste.ts";
import { guardImports } from "../../src/record/host/instance/host-frames.ts";
import { type InstrumentedInfo, instrument, type WasteOptions } from "../../src/record/tools/index.ts";
import type { WasteContents, WasteReader } from "../../src/record/tools/waste/read/read-waste.ts";
import { wasteFile } from "../../src/record/tools/waste/read/waste-file.ts";
import type { ProfiledOptions } from "./profiled.ts";
import { wasteReader } from "./waste-reader.ts";

/** An instance of a module whose wasted accesses are recorded in this thread, by calling context. */
export class Wasted {
  readonly info: InstrumentedInfo;
  readonly exports: Record<string, (...operands: unknown[]) => unknown>;
  readonly reader: WasteReader;
  readonly memory: WebAssembly.Memory;
  readonly #original: Uint8Array;

  constructor(
    bytes: Uint8Array,
    { imports: given, options }: ProfiledOptions = {},
    waste: WasteOptions = {},
  ) {
    this.#original = bytes;
    const { bytes: rewritten, info } = instrument(bytes, {
      tools: ["waste"],
      ...options,
      waste: { contexts: true, ...waste },
    });
    this.info = info;
    let exports: WebAssembly.Exports | undefined;
    const imports = given?.(() => exports as never);
    const module = new WebAssembly.Module(rewritten as BufferSource);
    const guarded = guardImports(imports, WebAssembly.Module.imports(module), info);
    exports = new WebAssembly.Instance(module, guarded?.imports ?? imports).exports;
    guarded?.connect(exports);
    this.exports = exports as never;
    this.memory = exports["memshade.waste"] as WebAssembly.Memory;
    this.reader = wasteReader(exports, info);
  }

  call(name: string, ...operands: unknown[]): unknown {
    return this.exports[name](...operands);
  }

  contents(): WasteContents {
    return this.reader.read(false);
  }

  file(): WasteFile {
    const { engine, contexts, objects, compat } = this.reader.description;
    const options = { engine, contexts, objects, compat };
    return wasteFile([], options, [
      { index: 0, info: this.info, original: this.#original, contents: [this.contents()] },
    ]);
  }

  /** Number of stores per stack, "innermost < … < outermost". */
  stacks(file = this.file()): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const store of file.stores) {
      const path = store.ips.map((ip) => ip.function).join(" < ");
      counts[path] = (counts[path] ?? 0) + store.nof_stores;
    }
    return counts;
  }
}
