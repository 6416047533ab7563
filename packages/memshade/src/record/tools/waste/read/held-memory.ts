import { WASM_PAGE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { followedMemory } from "../../followed-memory.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { wasteDescription } from "../description.ts";
import { Control } from "../layout.ts";
import { tooLargeSentence } from "../memory-limit.ts";

/**
 * Returns why a module with the waste tool cannot run on the memory that it imports: the memory is larger than the
 * tool's tables can cover. Undefined if it can run.
 */
export function memoryBeyond(
  imports: WebAssembly.Imports | undefined,
  info: InstrumentedInfo,
): string | undefined {
  const layout = wasteDescription(info);
  if (layout?.limited !== true || info.memoryImport === undefined) return undefined;
  const bytes = followedMemory(info, imports, undefined)?.buffer.byteLength ?? 0;
  return bytes <= layout.covered
    ? undefined
    : tooLargeSentence("The memory from outside has", bytes, layout.covered);
}

/**
 * Prevents JavaScript from growing a memory beyond the size that the waste tool covers: its `grow` fails as it does at
 * a memory's maximum.
 * @returns a function to call with the exports of the instance, so that the profile reports refused requests;
 *  undefined if the memory needs no limit.
 * @throws RangeError if the memory is too large already.
 */
export function holdMemory(
  imports: WebAssembly.Imports | undefined,
  info: InstrumentedInfo,
): ((exports: WebAssembly.Exports) => void) | undefined {
  const layout = wasteDescription(info);
  if (layout?.limited !== true) return undefined;
  const beyond = memoryBeyond(imports, info);
  if (beyond !== undefined) throw new RangeError(`memshade: ${beyond}`);
  let control: DataView | undefined;
  const refuse = (pages: number): void => {
    if (pages > layout.mostPages) return;
    control?.setUint32(Control.refused, control.getUint32(Control.refused, true) + 1, true);
    control?.setUint32(Control.asked, Math.max(control.getUint32(Control.asked, true), pages), true);
  };
  const given = followedMemory(info, imports, undefined);
  if (given !== undefined) hold(given, layout.covered, refuse);
  return (exports) => {
    const own = given === undefined ? followedMemory(info, imports, exports) : undefined;
    if (own !== undefined) hold(own, layout.covered, refuse);
    const shadow = exports["memshade.waste"] as WebAssembly.Memory | undefined;
    if (shadow !== undefined) control = new DataView(shadow.buffer, layout.control);
  };
}

function hold(memory: WebAssembly.Memory, most: number, refuse: (pages: number) => void): void {
  // Another module may limit it already, to another size.
  const { grow } = memory;
  Object.defineProperty(memory, "grow", {
    configurable: true,
    writable: true,
    value(pages: number): number {
      const wanted = memory.buffer.byteLength + Number(pages) * WASM_PAGE_BYTES;
      if (wanted > most) {
        refuse(wanted / WASM_PAGE_BYTES);
        throw new RangeError("WebAssembly.Memory.grow(): Maximum memory size exceeded");
      }
      return Reflect.apply(grow, memory, [pages]);
    },
  });
}
