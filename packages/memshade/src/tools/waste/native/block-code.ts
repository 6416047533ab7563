import type { Insertion } from "../../../native/rewrite/emit.ts";
import { RED_ZONE_BYTES } from "../../../native/rewrite/insertion/red-zone.ts";
import { place, RSP } from "../../../x64/index.ts";
import { int32 } from "../../../x64/operands.ts";
import type { Access } from "./access-code.ts";
import { skipRedZone } from "./borrowed.ts";
import type { CommonCode } from "./common-code.ts";
import { slot } from "./places.ts";
import type { FrameEnd } from "./routines/frame-end-routine.ts";
import { Snippet, type SnippetLabel } from "./snippet.ts";

const PUSHED_BYTES = 8;
export const PUSH_CONSTANT = 0x68;

/** The code in front of a string instruction. */
export function stringCode(
  { storeSlot, loadSlot }: Access,
  what: number,
  before: number,
  common: CommonCode,
): Insertion {
  const snippet = new Snippet();
  skipRedZone(snippet);
  for (const pushed of [what, storeSlot, loadSlot]) snippet.raw([PUSH_CONSTANT, ...int32(pushed)]);
  snippet.callCommon(common.string);
  snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + 3 * PUSHED_BYTES));
  return snippet.finish(before);
}

/** The code in front of a system call. */
export function systemCallCode(before: number, common: CommonCode): Insertion {
  const snippet = new Snippet();
  skipRedZone(snippet);
  snippet.callCommon(common.systemCall);
  snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  return snippet.finish(before);
}

/** The code in front of an instruction that ends a frame. */
export function frameEndCode(
  { below, end, byFramePointer }: FrameEnd,
  before: number,
  areFlagsLive: boolean,
  common: CommonCode,
): Insertion {
  const snippet = new Snippet();
  skipRedZone(snippet);
  // The routine takes the stack pointer from where its operands lie.
  if (areFlagsLive) snippet.put("pushf", 8);
  const shift = areFlagsLive ? PUSHED_BYTES : 0;
  const pushed = [byFramePointer ? 1 : 0, byFramePointer ? end : end + shift, below - shift];
  for (const one of pushed) snippet.raw([PUSH_CONSTANT, ...int32(one)]);
  snippet.callCommon(common.frameEnd);
  snippet.put("lea", 8, RSP, place(RSP, 3 * PUSHED_BYTES));
  if (areFlagsLive) snippet.put("popf", 8);
  snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  return snippet.finish(before);
}

/** In front of one of a block's instructions: counts that it runs, and gives its stores ids when it does so first. */
export function blockCode(
  areFlagsLive: boolean,
  before: number,
  blockSlot: number,
  stores: { first: number; count: number },
  common: CommonCode,
): Insertion {
  const assign = (snippet: Snippet): void => {
    for (const pushed of [stores.first, stores.count]) snippet.raw([PUSH_CONSTANT, ...int32(pushed)]);
    snippet.callCommon(common.assign);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  };
  return countRun(areFlagsLive, before, blockSlot, stores.count > 0 ? assign : undefined);
}

/**
 * Takes one off a block's slot.
 * @param onBorrow what runs, below the red zone, when that was 0; `here` is where all of it begins. It ends with the stack pointer as it was
 */
export function countRun(
  areFlagsLive: boolean,
  before: number,
  blockSlot: number,
  onBorrow: ((snippet: Snippet, here: SnippetLabel) => void) | undefined,
): Insertion {
  const snippet = new Snippet();
  const here = snippet.label();
  snippet.bind(here);
  if (areFlagsLive) {
    skipRedZone(snippet);
    snippet.put("pushf", 8);
  }
  snippet.put("sub", 8, slot(blockSlot), 1);
  if (onBorrow !== undefined) {
    const borrowed = snippet.label();
    const back = snippet.label();
    snippet.jump(borrowed, "b");
    snippet.bind(back);
    snippet.continueIn("cold");
    snippet.bind(borrowed);
    skipRedZone(snippet);
    onBorrow(snippet, here);
    snippet.jump(back);
    snippet.continueIn("bytes");
  }
  if (areFlagsLive) {
    snippet.put("popf", 8);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  }
  return snippet.finish(before);
}
