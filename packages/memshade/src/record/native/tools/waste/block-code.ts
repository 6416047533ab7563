import { place, RDI, RSI, RSP } from "../../../../code/x64/index.ts";
import { int32 } from "../../../../code/x64/operands.ts";
import { RED_ZONE_BYTES } from "../../rewrite/insertion/red-zone.ts";
import type { Insertion } from "../../rewrite/plan.ts";
import { type Access, skipRedZone } from "./access-code.ts";
import type { CommonCode, FrameEnd } from "./common-code.ts";
import { slot } from "./places.ts";
import type { ColdRoutines } from "./routines/cold-routines.ts";
import { MOST_BYTES } from "./routines/reached-memory.ts";
import { returnsLength } from "./routines/system-calls.ts";
import { Snippet, type SnippetLabel } from "./snippet.ts";

const PUSHED_BYTES = 8;
export const PUSH_CONSTANT = 0x68;

/** The code in front of a string instruction and behind it: what it has reached is known there. Meanwhile the stack pointer is lower. */
export function stringCode(
  { storeSlot, loadSlot }: Pick<Access, "storeSlot" | "loadSlot">,
  what: number,
  i: number,
  routines: ColdRoutines,
): Insertion[] {
  const before = new Snippet();
  skipRedZone(before);
  before.put("push", 8, RDI);
  before.put("push", 8, RSI);
  before.raw([PUSH_CONSTANT, ...int32(0)]);
  if (storeSlot !== 0) before.callCommon(routines.same(what));
  const behind = new Snippet();
  for (const pushed of [storeSlot, loadSlot]) behind.raw([PUSH_CONSTANT, ...int32(pushed)]);
  behind.callCommon(routines.string(what));
  behind.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + 5 * PUSHED_BYTES));
  return [
    { ...before.finish(i), where: "last" },
    { ...behind.finish(i), where: "behind" },
  ];
}

/** The code in front of a system call and, if what it reaches is known by what it returns, behind it. */
export function systemCallCode(i: number, number: number | undefined, common: CommonCode): Insertion[] {
  const call = (pushed: number, routine: number): Insertion => {
    const snippet = new Snippet();
    skipRedZone(snippet);
    snippet.raw([PUSH_CONSTANT, ...int32(pushed)]);
    snippet.callCommon(routine);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + PUSHED_BYTES));
    return snippet.finish(i);
  };
  if (number === undefined || !returnsLength(number)) return [call(MOST_BYTES, common.beforeSystemCall)];
  return [call(0, common.beforeSystemCall), { ...call(number, common.behindSystemCall), where: "behind" }];
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
