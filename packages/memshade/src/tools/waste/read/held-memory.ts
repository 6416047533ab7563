import { isMemory } from "../../is-memory.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { type WasteDescription, wasteDescription } from "../description.ts";
import { Control } from "../layout.ts";

const PAGE_BYTES = 65536;

const MIB = 2 ** 20;

/**
 * Why a module with the waste tool cannot run on the memory that it is to import: it is larger already than what the tool's tables
 * have room for. Undefined: it can.
 */
export function memoryBeyond(
  imports: WebAssembly.Imports | undefined,
  info: InstrumentedInfo,
): string | undefined {
  const { layout, memory } = held(imports, info);
  if (memory === undefined || layout === undefined) return undefined;
  const bytes = memory.buffer.byteLength;
  if (bytes <= layout.covered) return undefined;
  return (
    `the memory from outside has ${Math.ceil(bytes / MIB)} MiB, of which the waste tool can follow ` +
    `${Math.floor(layout.covered / MIB)} MiB`
  );
}

/** The memory to be held, if there is one, and what is known of the tool. */
function held(
  imports: WebAssembly.Imports | undefined,
  info: InstrumentedInfo,
): { layout?: WasteDescription; memory?: WebAssembly.Memory } {
  const layout = wasteDescription(info);
  const from = info.memoryImport;
  if (layout?.limited !== true || from === undefined) return {};
  const given = imports?.[from.module]?.[from.field];
  // The engine refuses anything else, in its own words.
  return isMemory(given) ? { layout, memory: given } : {};
}

/**
 * Keeps JavaScript from growing an imported memory beyond what the waste tool can follow: `grow` of that memory fails there as it
 * does at a memory's maximum. A memory of the module's own has a lower maximum instead.
 *
 * @returns to be called with the exports of the instance, so that the profile tells of what was refused; undefined where nothing
 *   is to be held.
 * @throws RangeError if the memory is larger already.
 */
export function holdMemory(
  imports: WebAssembly.Imports | undefined,
  info: InstrumentedInfo,
): ((exports: WebAssembly.Exports) => void) | undefined {
  const { layout, memory } = held(imports, info);
  if (layout === undefined || memory === undefined) return undefined;
  const beyond = memoryBeyond(imports, info);
  if (beyond !== undefined) throw new RangeError(`memshade: ${beyond}`);
  let control: DataView | undefined;
  // Another module may hold it already, at another size.
  const { grow } = memory;
  Object.defineProperty(memory, "grow", {
    configurable: true,
    writable: true,
    value(pages: number): number {
      if (memory.buffer.byteLength + Number(pages) * PAGE_BYTES > layout.covered) {
        const refused = control?.getUint32(Control.refused, true) ?? 0;
        control?.setUint32(Control.refused, refused + 1, true);
        throw new RangeError("WebAssembly.Memory.grow(): Maximum memory size exceeded");
      }
      return Reflect.apply(grow, memory, [pages]);
    },
  });
  return (exports) => {
    const shadow = exports["memshade.waste"] as WebAssembly.Memory | undefined;
    if (shadow !== undefined) control = new DataView(shadow.buffer, layout.control);
  };
}
