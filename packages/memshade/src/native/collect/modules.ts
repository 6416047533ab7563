import { MODULE_BYTES, Module, ModuleKind } from "../layout.ts";

/** An object, or a piece of memory with code, as a process had it. */
export interface ProcessModule {
  /** Path, as the dynamic linker knows it; empty for the program itself and for memory. */
  name: string;
  /** Hexadecimal; empty where there is none. */
  buildId: string;
  /** Number of its first address among the sites of the process, and behind its last one. */
  start: number;
  end: number;
  /** Address in the object of its first address in the process. */
  address: number;
  isObject: boolean;
}

/** The modules of a process, in the order in which it met them, from their table. */
export function readModules(table: Uint8Array): ProcessModule[] {
  const view = new DataView(table.buffer, table.byteOffset, table.length);
  const u64 = (at: number): number => Number(view.getBigUint64(at, true));
  return Array.from({ length: table.length / MODULE_BYTES }, (_, i) => {
    const at = i * MODULE_BYTES;
    const bytes = (from: number, length: number): Uint8Array =>
      table.subarray(at + from, at + from + length);
    const [start, end] = [u64(at + Module.start), u64(at + Module.end)];
    const site = view.getUint32(at + Module.site, true);
    const id = bytes(Module.buildId, view.getUint32(at + Module.buildIdBytes, true));
    return {
      name: new TextDecoder().decode(bytes(Module.name, view.getUint32(at + Module.nameBytes, true))),
      buildId: Array.from(id, (byte) => byte.toString(16).padStart(2, "0")).join(""),
      start: site,
      end: site + (end - start),
      address: start - u64(at + Module.bias),
      isObject: view.getUint32(at + Module.kind, true) !== ModuleKind.piece,
    };
  });
}
