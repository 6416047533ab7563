import { hexOf } from "../../../ground/bytes/numbers.ts";
import { MODULE_BYTES, Module, ModuleKind, Place, SUM_WORDS } from "../layout.ts";
import { keyOfSum, withMark } from "../tables/table-key.ts";

/** A module of a process: an object, or memory with code. */
export interface ProcessModule {
  /** Path from the dynamic linker; empty for the program itself and for memory. */
  name: string;
  /** Hexadecimal; empty if the object has none. */
  buildId: string;
  /** Name of its tables as in `tableKey`; empty if it has no key. */
  tableKey: string;
  /** Range of its site numbers. */
  start: number;
  end: number;
  /** Address in the object of its first address in the process. */
  address: number;
  bias: number;
  isObject: boolean;
  /** Number that distinguishes a rewritten file from its original; 0 for originals. */
  mark: number;
}

/** Reads the modules of a process, in the order in which it made them. */
export function readModules(memory: SharedArrayBuffer, count: number): ProcessModule[] {
  const view = new DataView(memory);
  const u64 = (at: number): number => Number(view.getBigUint64(at, true));
  return Array.from({ length: count }, (_, i) => {
    const at = Place.modules + i * MODULE_BYTES;
    const bytes = (from: number, length: number): Uint8Array =>
      new Uint8Array(memory, at + from, length).slice();
    const [start, end] = [u64(at + Module.start), u64(at + Module.end)];
    const word = (field: number): number => view.getUint32(at + field, true);
    const site = word(Module.site);
    const mark = u64(at + Module.mark);
    const idBytes = word(Module.buildIdBytes);
    const id = hexOf(bytes(Module.buildId, idBytes === 0 ? 4 * SUM_WORDS : idBytes));
    return {
      name: new TextDecoder().decode(
        new Uint8Array(memory, word(Module.name), word(Module.nameBytes)).slice(),
      ),
      buildId: idBytes === 0 ? "" : id,
      tableKey: idBytes > 0 ? withMark(id, mark) : /[1-9a-f]/.test(id) ? withMark(keyOfSum(id), mark) : "",
      start: site,
      end: site + (end - start),
      address: start - u64(at + Module.bias),
      bias: u64(at + Module.bias),
      isObject: word(Module.kind) !== ModuleKind.piece,
      mark,
    };
  });
}
