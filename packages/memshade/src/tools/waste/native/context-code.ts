import type { Insertion } from "../../../native/rewrite/emit.ts";
import { RED_ZONE_BYTES } from "../../../native/rewrite/insertion/red-zone.ts";
import { place, RAX, RSP } from "../../../x64/index.ts";
import { int32 } from "../../../x64/operands.ts";
import { countRun, PUSH_CONSTANT } from "./block-code.ts";
import type { CommonCode } from "./common-code.ts";

const PUSHED_BYTES = 8;

/** A block whose runs are sampled: the first of its slots, and how many accesses it has. */
export interface SampledCode {
  blockSlot: number;
  stores: number;
  loads: number;
}

/** In front of a block's first instruction: counts down, and goes to the routine when it is through. */
export function sampledBlockCode(
  areFlagsLive: boolean,
  before: number,
  { blockSlot, stores, loads }: SampledCode,
  common: CommonCode,
): Insertion {
  return countRun(areFlagsLive, before, blockSlot, (snippet, here) => {
    for (const pushed of [blockSlot, stores | (loads << 16)]) snippet.raw([PUSH_CONSTANT, ...int32(pushed)]);
    snippet.put("push", 8, RAX);
    snippet.addressOf(here, RAX);
    snippet.put("xchg", 8, place(RSP), RAX);
    snippet.raw([PUSH_CONSTANT, ...int32(areFlagsLive ? RED_ZONE_BYTES + PUSHED_BYTES : 0)]);
    snippet.callCommon(common.sample);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + 4 * PUSHED_BYTES));
  });
}
