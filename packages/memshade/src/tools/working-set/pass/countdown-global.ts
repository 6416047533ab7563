import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { encodeConstantExpression, I32, type ValType } from "../../../wasm/index.ts";

/** The global in which an instance counts accesses down to its next snapshot. */
export interface CountdownGlobal {
  /** −1: nothing is counted. */
  index: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  /** What runtimes import to get at it. */
  hosts: { clock: number; setClock: number };
}

/** Makes the global with index `index`, and what gets at it. */
export function placeCountdown(appended: AppendedFunctions, index: number): CountdownGlobal {
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
  };
}
