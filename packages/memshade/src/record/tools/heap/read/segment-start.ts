import { segmentAddress, type WasmModule } from "../../../../code/wasm/index.ts";
import type { StaticPlaces } from "../../options.ts";

/**
 * Returns the address of a data segment in the program's memory, even if the module's start function writes
 * it; undefined if it is unknown.
 */
export function segmentStart(
  module: WasmModule,
  index: number,
  statics: StaticPlaces | undefined,
): number | undefined {
  return (
    segmentAddress(module, module.data[index]!) ??
    statics?.written.find((range) => range.segment === index)?.start
  );
}
