// Replaces `tools/heap/assembly/imports.ts` for native programs, with constants in place of imports.
import { allocatedAnyhow } from "../../../tools/heap/assembly/blocks";
import { WALL_CLOCK } from "../../../tools/heap/assembly/clock";
import { allocated } from "../../../tools/heap/assembly/heap";
import { Place } from "../layout.generated";
import { load64 } from "../machine";

export const SLOTS: u32 = Place.slots;
export const SLOTS_END: u32 = Place.slotsEnd;
export const DIRECTORY: u32 = Place.directory;
export const CONTROL: u32 = Place.control;
export const SHAPES: u32 = Place.shapes;
export const MIBS: u32 = Place.mibs;
export const MIB_CAPACITY: u32 = Place.mibCapacity;
export const PASTS: u32 = Place.pasts;
export const DRAGS: u32 = Place.drags;
export const FOLLOWED: u32 = Place.followed;
export const INTERVALS: u32 = Place.intervals;
export const CHANGES: u32 = Place.changes;
export const CHANGE_CAPACITY: u32 = Place.changeCapacity;
export const GROWTHS: u32 = Place.growths;
export const NODES: u32 = Place.nodes;
export const NODE_CAPACITY: u32 = Place.nodeCapacity;
export const CHILDREN: u32 = Place.children;
export const CHILD_CAPACITY: u32 = Place.childCapacity;
export const RECORDS: u32 = Place.records;
export const RECORD_CAPACITY: u32 = Place.recordCapacity;

/** 0 if accesses are not counted. */
export let COUNTED: u32 = 0;

export function setCounted(counted: u32): void {
  COUNTED = counted;
}

// All threads share one set of tables, which has a lock of its own.
export const EXACT: u32 = 0;
export const HISTOGRAMS: u32 = 0;
export const HISTOGRAMS_END: u32 = 0;
export const MARKS: u32 = 0;
export const STATICS: u32 = 0;
export const STATIC_BYTES: u32 = 0;
export const IMAGE: u32 = 0;
export const IMAGE_BYTES: u32 = 0;
export const SHARED: u32 = 0;
export const INSTANCE: u32 = 0;
export const HOST_STACKS: u32 = 0;
export const HOST_ENTRIES: u32 = 0;
export const STACK: u32 = 0;
export const FIRST_STACK: u32 = 0;
export const STACK_DISTANCE: u32 = 0;
export const STACK_COUNT: u32 = 0;
export { WALL_CLOCK };

@inline
export function programLoad64(address: u64): u64 {
  return load64(address);
}

export function askHost(): u32 {
  return 0;
}
export function lock(): void {}
export function unlock(): void {}

/** True if the common path has left a block to the functions that handle all cases. */
export let isRare: bool = false;

@inline
export function beginCommonPath(): void {
  isRare = false;
}

@inline
export function otherwise(): void {
  isRare = true;
}

/** Records a new block, by the common path where possible. */
export function allocatedAsUsual(address: u64, size: u32, thread: u32, self: u32): void {
  beginCommonPath();
  // The common path supports only the clock of allocations.
  if (WALL_CLOCK !== 0) otherwise();
  else allocated(address, size, thread);
  if (isRare) allocatedAnyhow(address, size, thread, self);
}
