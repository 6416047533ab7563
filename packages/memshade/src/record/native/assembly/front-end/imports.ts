// Stands in the place of `tools/heap/assembly/imports.ts` where native programs are profiled: all is known when it is compiled.
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

/** 0 where accesses are not counted. */
export let COUNTED: u32 = 0;

export function setCounted(counted: u32): void {
  COUNTED = counted;
}

// There is one set of tables for all threads, behind a lock of its own.
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

/** Whether the common path has left a block to the functions that can do all cases. */
export let isRare: bool = false;

@inline
export function beginCommonPath(): void {
  isRare = false;
}

@inline
export function otherwise(): void {
  isRare = true;
}

/** A block was handed out, most often such a one as the common path knows. */
export function allocatedAsUsual(address: u64, size: u32, thread: u32, self: u32): void {
  beginCommonPath();
  // The common path knows the other clock.
  if (WALL_CLOCK !== 0) otherwise();
  else allocated(address, size, thread);
  if (isRare) allocatedAnyhow(address, size, thread, self);
}
