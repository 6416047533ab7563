// What inline code calls where something happened. It says in one number which site it is and how far from the address in its
// local it accesses: the distance in units of the access's size in the low bits, the number of the site above them. In frames that
// number is the record's place there, in units of 8 bytes.
import { freshFew, sameAt } from "./accesses";
import { storeRecord } from "./ids";

/** Bits of the distance. */
const DISTANCE_BITS: u32 = 5;
const DISTANCES: u32 = 31;

@inline
export function accessed(address: u32, size: u32, place: u32): u32 {
  return address + (place & DISTANCES) * size;
}
@inline
export function siteOf(place: u32): u32 {
  return place >>> DISTANCE_BITS;
}
@inline
export function recordIn(frame: u32, place: u32): u32 {
  return frame + ((place >>> DISTANCE_BITS) << 3);
}

@inline
function fresh(address: u32, size: u32, place: u32): void {
  freshFew(accessed(address, size, place), size, siteOf(place));
}

export function freshPlaced1(address: u32, place: u32): void {
  fresh(address, 1, place);
}
export function freshPlaced2(address: u32, place: u32): void {
  fresh(address, 2, place);
}
export function freshPlaced4(address: u32, place: u32): void {
  fresh(address, 4, place);
}
export function freshPlaced8(address: u32, place: u32): void {
  fresh(address, 8, place);
}
export function freshPlaced16(address: u32, place: u32): void {
  fresh(address, 16, place);
}

@inline
function freshIn(address: u32, size: u32, frame: u32, place: u32): void {
  freshFew(accessed(address, size, place), size, recordIn(frame, place));
}

export function freshInFrame1(address: u32, frame: u32, place: u32): void {
  freshIn(address, 1, frame, place);
}
export function freshInFrame2(address: u32, frame: u32, place: u32): void {
  freshIn(address, 2, frame, place);
}
export function freshInFrame4(address: u32, frame: u32, place: u32): void {
  freshIn(address, 4, frame, place);
}
export function freshInFrame8(address: u32, frame: u32, place: u32): void {
  freshIn(address, 8, frame, place);
}
export function freshInFrame16(address: u32, frame: u32, place: u32): void {
  freshIn(address, 16, frame, place);
}

@inline
function same(address: u32, size: u32, place: u32): void {
  sameAt(accessed(address, size, place), size, storeRecord(siteOf(place)));
}

export function samePlaced1(address: u32, place: u32): void {
  same(address, 1, place);
}
export function samePlaced2(address: u32, place: u32): void {
  same(address, 2, place);
}
export function samePlaced4(address: u32, place: u32): void {
  same(address, 4, place);
}
export function samePlaced8(address: u32, place: u32): void {
  same(address, 8, place);
}
export function samePlaced16(address: u32, place: u32): void {
  same(address, 16, place);
}

@inline
function sameIn(address: u32, size: u32, frame: u32, place: u32): void {
  sameAt(accessed(address, size, place), size, recordIn(frame, place));
}

export function sameInFrame1(address: u32, frame: u32, place: u32): void {
  sameIn(address, 1, frame, place);
}
export function sameInFrame2(address: u32, frame: u32, place: u32): void {
  sameIn(address, 2, frame, place);
}
export function sameInFrame4(address: u32, frame: u32, place: u32): void {
  sameIn(address, 4, frame, place);
}
export function sameInFrame8(address: u32, frame: u32, place: u32): void {
  sameIn(address, 8, frame, place);
}
export function sameInFrame16(address: u32, frame: u32, place: u32): void {
  sameIn(address, 16, frame, place);
}
