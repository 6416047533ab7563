import { segmentAddress, type WasmModule } from "../../../../code/wasm/index.ts";
import type { StaticPlaces } from "../../options.ts";

/** Where a data segment lies in the program's memory, also one that the start of the module puts there; undefined: that is not known. */
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
