import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { encodeConstantExpression, I32, type ValType } from "../../../wasm/index.ts";

const HAS_MEMORY_INDEX = 0x40;
const WORD = 2;

/** The global in which an instance counts accesses down to its next snapshot. */
export interface CountdownGlobal {
  /** −1: nothing is counted. */
  index: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  /** What runtimes import to get at it. */
  hosts: { clock: number; setClock: number };
  /** Function () → () that copies it to the tool's memory; −1 where nothing is counted. */
  publish: number;
}

/**
 * Other threads cannot read globals of an instance, and hosts that are not written in JavaScript save memories: so both find
 * a copy at address `published` of memory `memory`.
 */
export function placeCountdown(
  appended: AppendedFunctions,
  index: number,
  memory: number,
  published: number,
): CountdownGlobal {
  const zero = encodeConstantExpression(I32, 0);
  return {
    index,
    globals: [{ type: I32, initial: zero }],
    hosts: {
      clock: appended.add(appended.typeIndex([], [I32]), () =>
        new BodyBuilder().op("global.get", index).finish(),
      ),
      setClock: appended.add(appended.typeIndex([I32], []), () =>
        new BodyBuilder().op("local.get", 0).op("global.set", index).finish(),
      ),
    },
    publish: appended.add(appended.typeIndex([], []), () =>
      new BodyBuilder()
        .i32(0)
        .op("global.get", index)
        .op("i32.store", WORD | HAS_MEMORY_INDEX, memory, published)
        .finish(),
    ),
  };
}
