import type { InstrumentedInfo } from "../../../instrument/index.ts";
import type { WasteToolLayout } from "./read-waste.ts";
import { ControlField } from "./waste-offsets.ts";

const PAGE_BYTES = 65536;

/**
 * Keeps JavaScript from growing an imported memory beyond what the waste tool can follow: `grow` of that memory fails there as it
 * does at a memory's maximum. A memory of the module's own has a lower maximum instead.
 *
 * @returns to be called with the exports of the instance, so that the profile tells of what was refused; undefined where nothing
 *   is to be held.
 */
export function holdMemory(
  imports: WebAssembly.Imports | undefined,
  info: InstrumentedInfo,
): ((exports: WebAssembly.Exports) => void) | undefined {
  const layout = info.toolLayouts?.waste as unknown as WasteToolLayout | undefined;
  const from = info.memoryImport;
  if (layout?.limited !== true || from === undefined) return undefined;
  const memory = imports?.[from.module]?.[from.field] as WebAssembly.Memory | undefined;
  if (typeof memory?.grow !== "function") return undefined;
  let control: DataView | undefined;
  // Another module may hold it already, at another size.
  const { grow } = memory;
  Object.defineProperty(memory, "grow", {
    configurable: true,
    writable: true,
    value(pages: number): number {
      if (memory.buffer.byteLength + Number(pages) * PAGE_BYTES > layout.covered) {
        const refused = control?.getUint32(ControlField.refused, true) ?? 0;
        control?.setUint32(ControlField.refused, refused + 1, true);
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
