// Replaces `tools/heap/assembly/clock.ts` for native programs whose lifetimes are measured in allocations.
import { CONTROL } from "../../../tools/heap/assembly/imports";
import { Control } from "../../../tools/heap/assembly/layout.generated";

export const WALL_CLOCK: u32 = 0;

@inline
export function now(): u32 {
  return load<u32>(CONTROL, Control.allocations);
}
