import type { Insertion } from "../../../native/rewrite/emit.ts";
import { RED_ZONE_BYTES } from "../../../native/rewrite/insertion/red-zone.ts";
import { place, RAX, RSP } from "../../../x64/index.ts";
import { int32 } from "../../../x64/operands.ts";
import { skipRedZone } from "./borrowed.ts";
import type { CommonCode } from "./common-code.ts";
import { slot } from "./places.ts";
import { Snippet } from "./snippet.ts";

const [PUSHED_BYTES, PUSH_CONSTANT] = [8, 0x68];

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
  const snippet = new Snippet();
  const here = snippet.label();
  snippet.bind(here);
  if (areFlagsLive) {
    skipRedZone(snippet);
    snippet.put("pushf", 8);
  }
  snippet.put("sub", 8, slot(blockSlot), 1);
  const through = snippet.label();
  const back = snippet.label();
  snippet.jump(through, "b");
  snippet.bind(back);
  snippet.continueIn("cold");
  snippet.bind(through);
  skipRedZone(snippet);
  for (const pushed of [blockSlot, stores | (loads << 16)]) snippet.raw([PUSH_CONSTANT, ...int32(pushed)]);
  snippet.put("push", 8, RAX);
  snippet.addressOf(here, RAX);
  snippet.put("xchg", 8, place(RSP), RAX);
  snippet.raw([PUSH_CONSTANT, ...int32(areFlagsLive ? RED_ZONE_BYTES + PUSHED_BYTES : 0)]);
  snippet.callCommon(common.sample);
  snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + 4 * PUSHED_BYTES));
  snippet.jump(back);
  snippet.continueIn("bytes");
  if (areFlagsLive) {
    snippet.put("popf", 8);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  }
  return snippet.finish(before);
}
