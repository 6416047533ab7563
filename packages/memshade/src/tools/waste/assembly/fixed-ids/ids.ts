// Ids of stores that are known when a module is rewritten: keys and ids are one. `chosen-ids` stands for this folder or for
// `given-ids`: see scripts/build-shadow-runtime.ts.
import { STORES } from "../layout";

// Distance between the records of neighbouring keys, as a shift.
@external("layout", "RECORD_SHIFT")
declare const RECORD_SHIFT: u32;

@inline export function storeRecord(key: u32): usize { return STORES + (key << RECORD_SHIFT); }
/** The record of the store whose id is in the shadow. */
@inline export function recordOf(id: u32): usize { return storeRecord(id); }
/** The id that stands for a store in the shadow, `NONE` where it gets none. */
@inline export function idOfKey(key: u32): u32 { return key; }
@inline export function isNone(id: u32): bool { return false; }
/** Whether each of the stores among `count` streams has an id, and each unread byte that of its writer. */
@inline export function haveIds(count: u32): bool { return true; }
/** A store without an id writes a range. */
@inline export function spill(address: u32, size: u32, key: u32): void {}
/** What such stores wrote of a range is counted in the field `field` of their records; then the bytes are unread, and nobody's. */
@inline export function settleSpilled(address: u32, size: u32, field: usize): void {}
/** What is known of who wrote such bytes goes where their words in the shadow went. */
@inline export function moveSpilled(to: u32, from: u32, size: u32): void {}
