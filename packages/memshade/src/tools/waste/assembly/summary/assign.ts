// As `placed.ts`, for stores that need an id.
import { assignedIds, storeRecord } from "./ids";
import { accessed, recordIn, siteOf } from "./placed";

@inline
function assignTo(address: u32, size: u32, place: u32): u64 {
  return assignedIds(accessed(address, size, place), size, <u32>storeRecord(siteOf(place)));
}

export function assignPlaced1(address: u32, place: u32): u64 {
  return assignTo(address, 1, place);
}
export function assignPlaced2(address: u32, place: u32): u64 {
  return assignTo(address, 2, place);
}
export function assignPlaced4(address: u32, place: u32): u64 {
  return assignTo(address, 4, place);
}
export function assignPlaced8(address: u32, place: u32): u64 {
  return assignTo(address, 8, place);
}
export function assignPlaced16(address: u32, place: u32): u64 {
  return assignTo(address, 16, place);
}

@inline
function assignIn(address: u32, size: u32, frame: u32, place: u32): u64 {
  return assignedIds(accessed(address, size, place), size, recordIn(frame, place));
}

export function assignInFrame1(address: u32, frame: u32, place: u32): u64 {
  return assignIn(address, 1, frame, place);
}
export function assignInFrame2(address: u32, frame: u32, place: u32): u64 {
  return assignIn(address, 2, frame, place);
}
export function assignInFrame4(address: u32, frame: u32, place: u32): u64 {
  return assignIn(address, 4, frame, place);
}
export function assignInFrame8(address: u32, frame: u32, place: u32): u64 {
  return assignIn(address, 8, frame, place);
}
export function assignInFrame16(address: u32, frame: u32, place: u32): u64 {
  return assignIn(address, 16, frame, place);
}
