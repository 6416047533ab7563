// As `placed.ts`, for stores that need an id.
import { given, storeRecord } from "./ids";
import { accessed, recordIn, siteOf } from "./placed";

@inline function givenTo(address: u32, size: u32, place: u32): u64 {
  return given(accessed(address, size, place), size, <u32>storeRecord(siteOf(place)));
}

export function givenPlaced1(address: u32, place: u32): u64 { return givenTo(address, 1, place); }
export function givenPlaced2(address: u32, place: u32): u64 { return givenTo(address, 2, place); }
export function givenPlaced4(address: u32, place: u32): u64 { return givenTo(address, 4, place); }
export function givenPlaced8(address: u32, place: u32): u64 { return givenTo(address, 8, place); }
export function givenPlaced16(address: u32, place: u32): u64 { return givenTo(address, 16, place); }

@inline function givenIn(address: u32, size: u32, frame: u32, place: u32): u64 {
  return given(accessed(address, size, place), size, recordIn(frame, place));
}

export function givenInFrame1(address: u32, frame: u32, place: u32): u64 { return givenIn(address, 1, frame, place); }
export function givenInFrame2(address: u32, frame: u32, place: u32): u64 { return givenIn(address, 2, frame, place); }
export function givenInFrame4(address: u32, frame: u32, place: u32): u64 { return givenIn(address, 4, frame, place); }
export function givenInFrame8(address: u32, frame: u32, place: u32): u64 { return givenIn(address, 8, frame, place); }
export function givenInFrame16(address: u32, frame: u32, place: u32): u64 { return givenIn(address, 16, frame, place); }
