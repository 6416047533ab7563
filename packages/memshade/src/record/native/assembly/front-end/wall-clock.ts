// Replaces `tools/heap/assembly/clock.ts` for native programs whose lifetimes are measured in milliseconds.
import { CONTROL } from "../../../tools/heap/assembly/imports";
import { Control } from "../../../tools/heap/assembly/layout.generated";
import { Header } from "../layout.generated";
import { libcClockGettime, load64, scratch } from "../machine";
import { CLOCK_MONOTONIC } from "../system-calls";

export const WALL_CLOCK: u32 = 1;

/**
 * Returns the time of a heap event: milliseconds since the start of the process. The C library reads the
 * clock without a system call.
 */
export function now(): u32 {
  libcClockGettime(<u32>CLOCK_MONOTONIC, scratch());
  const nanoseconds = load64(scratch()) * 1_000_000_000 + load64(scratch() + 8);
  const milliseconds = <u32>((nanoseconds - load<u64>(Header.start)) / 1_000_000);
  store<u32>(CONTROL, milliseconds, Control.wallMs);
  return milliseconds;
}
