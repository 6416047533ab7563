import { readU32Leb } from "../../bytes/leb128.ts";
import { openObject } from "../../objects/index.ts";
import { BlockTypes } from "../../symbolize/block-types.ts";
import type { TypesOf } from "../../tools/session.ts";
import { decodeModule, IMMEDIATE_KIND, opcodeIdAt, skipImmediates, skipOpcode } from "../../wasm/index.ts";
import * as Op from "../../wasm/op.generated.ts";

/** Instructions behind a call of the allocator among which a constructor is looked for. */
const LOOKED_AT = 24;

/** Types of the blocks of a module by its own debug information; undefined where it has none that can be read. */
export const moduleTypes: TypesOf = (original) => typesBy(original, original);

/** The same by the debug information of another file. */
export function typesBy(original: Uint8Array, debug: Uint8Array): ReturnType<TypesOf> {
  try {
    const object = openObject(debug);
    if (object.section(".debug_info") === undefined) return undefined;
    const types = new BlockTypes(object);
    const module = decodeModule(original);
    const { bytes, bodies, codePayloadStart, importedFunctionCount } = module;
    const behind = (offset: number): number[] => {
      const places: number[] = [];
      let pos = codePayloadStart + offset;
      for (let i = 0; i <= LOOKED_AT && pos < bytes.length; i++) {
        const op = opcodeIdAt(bytes, pos);
        const immediates = skipOpcode(bytes, pos);
        if (i > 0) places.push(pos - codePayloadStart);
        if (op === Op.END && i > 0) break;
        if (op === Op.CALL && i > 0) {
          const callee = bodies[readU32Leb(bytes, immediates) - importedFunctionCount];
          if (callee !== undefined) places.push(callee.codeStart - codePayloadStart);
          break;
        }
        pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
      }
      return places;
    };
    return (offset, smallest, largest) => types.at(offset, { smallest, largest }, behind(offset));
  } catch {
    return undefined;
  }
}
