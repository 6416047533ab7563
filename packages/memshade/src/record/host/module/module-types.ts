import { openObject } from "../../../code/objects/index.ts";
import {
  decodeModule,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
} from "../../../code/wasm/index.ts";
import { MEMARG_HAS_MEMORY } from "../../../code/wasm/memarg.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../ground/bytes/leb128.ts";
import { BlockTypes } from "../../../names/symbolize/block-types.ts";
import type { TypesOf } from "../../tools/session.ts";

/** Instructions after a call of the allocator that are searched for a constructor. */
const LOOKED_AT = 24;

/** Resolves types of the blocks of a module by its own debug information; undefined if it has none that can be read. */
export const moduleTypes: TypesOf = (original) => typesBy(original, original);

/** Resolves them by the debug information of another file. */
export function typesBy(original: Uint8Array, debug: Uint8Array): ReturnType<TypesOf> {
  try {
    const object = openObject(debug);
    if (object.section(".debug_info") === undefined) return undefined;
    const types = new BlockTypes(object);
    const module = decodeModule(original);
    const { bytes, bodies, codePayloadStart, importedFunctionCount } = module;
    const placesAfter = (offset: number): number[] => {
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
    return (offset, smallest, largest) =>
      types.at(
        offset,
        { smallest, largest },
        placesAfter(offset),
        storedAt(bytes, codePayloadStart + offset),
      );
  } catch {
    return undefined;
  }
}

/** Returns the displacement of the store of a call's result, directly or from a local; undefined if there is none. */
function storedAt(bytes: Uint8Array, call: number): number | undefined {
  let pos = call;
  let local: number | undefined;
  let isOnTop = true;
  for (let i = 0; i <= LOOKED_AT && pos < bytes.length; i++) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    if (i > 0) {
      const isStore = op === Op.I32_STORE || op === Op.I64_STORE;
      if (isStore && isOnTop) {
        const flags = readU32Leb(bytes, immediates);
        return flags < MEMARG_HAS_MEMORY ? readU32Leb(bytes, immediates + 1) : undefined;
      }
      if (isOnTop && (op === Op.LOCAL_SET || op === Op.LOCAL_TEE)) local = readU32Leb(bytes, immediates);
      else if (op === Op.CALL || op === Op.CALL_INDIRECT || op === Op.END) return undefined;
      isOnTop =
        (op === Op.LOCAL_TEE && isOnTop) ||
        (op === Op.LOCAL_GET && local !== undefined && readU32Leb(bytes, immediates) === local);
    }
    pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  }
  return undefined;
}
