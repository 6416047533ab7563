// Follows some blocks from their allocation to their end, to see which of their bytes the program uses: the first
// thousands, and of later ones fewer and fewer, each of which stands for those before it. Large blocks are all followed.
import { prepareContexts, settledNode } from "../../../assembly/front-end/calls";
import { Thread } from "../../../assembly/layout.generated";
import { lock, unlock } from "../../../assembly/lock";
import { load32, load64, load8, store32, store64, store8, syscall3 } from "../../../assembly/machine";
import { MADV_REMOVE, MADVISE } from "../../../assembly/system-calls";
import { currentThread } from "../../../assembly/threads";
import { walk } from "../../../assembly/walk";
import { CONTROL } from "../../../../tools/heap/assembly/imports";
import { Control } from "../../../../tools/heap/assembly/layout.generated";
import {
  ADDRESS_BITS,
  Fate,
  FIRST_BLOCKS,
  FOLLOWED,
  FOLLOWED_BYTES,
  FOLLOWED_SITE_BYTES,
  FOLLOWED_SITES,
  FOLLOWED_SITES_BITS,
  FollowedHead,
  FollowedSite,
  INVALID,
  LIVE_BITS,
  LIVE_BYTES,
  LiveBlock,
  MARKED_BYTES,
  MARKS_BIT,
  MOST_FOLLOWED,
  SHADOW,
} from "./layout.generated";

const LOWEST: u64 = 0x0001_0001_0001_0001;
const MIXER: u64 = 0x9e37_79b9_7f4a_7c15;
const HIGH_BITS: u64 = 64 - <u64>ADDRESS_BITS;
/** Size from which on the work on a block's shadow words is far more than a walk. */
const LARGE: u64 = 4096;
const LONGEST_GAP: u64 = 1 << 15;
/** Entries of the live blocks that an address may have, and of the sites that a node may have. */
const TRIES: u64 = 4;
const SITE_TRIES: u32 = 64;
const GRANULE_BYTES: u64 = MARKED_BYTES;
/** Bytes of marks from which on their pages are returned to the system, which clears them. */
const GIVEN_BACK: u64 = 1 << 13;
const PAGE_BYTES: u64 = 4096;
const LOOKS: u64 = 64;
const LOOK_BYTES: u64 = 64;

let random: u64 = 0;

/** Returns how many blocks the new one stands for; 0 if it is not followed. */
@inline
function weightOf(size: u64): u64 {
  if (size >= LARGE) return 1;
  const count = load64(<u64>FOLLOWED + FollowedHead.blocks) + 1;
  store64(<u64>FOLLOWED + FollowedHead.blocks, count);
  return count < load64(<u64>FOLLOWED + FollowedHead.next) ? 0 : takeTurn(count);
}

function takeTurn(count: u64): u64 {
  const weight = count - load64(<u64>FOLLOWED + FollowedHead.last);
  random = random * 6364136223846793005 + 1442695040888963407;
  const gap = (random >> 33) % (2 * min(LONGEST_GAP, 1 + count / <u64>FIRST_BLOCKS));
  store64(<u64>FOLLOWED + FollowedHead.last, count);
  store64(<u64>FOLLOWED + FollowedHead.next, count + max(1, gap));
  return weight;
}

/** Begins a block. */
export function followBlock(block: u64, size: u64, place: u64, address: u64, rbp: u64): void {
  const weight = weightOf(size);
  if (weight === 0 || size === 0 || size >> 32 !== 0) return;
  const thread = currentThread();
  if (thread === 0) return;
  walk(thread, place, address, rbp);
  if (!lock(thread + Thread.room)) return;
  if (load<u32>(CONTROL, Control.childTable) === 0) prepareContexts();
  const node = settledNode(thread);
  const site = node === 0 ? 0 : siteOf(node);
  const entry = site === 0 ? 0 : entryOf(block, 0);
  if (entry !== 0) {
    store32(entry + LiveBlock.site, <u32>(site - <u64>FOLLOWED));
    store32(entry + LiveBlock.size, <u32>size);
    store64(entry + LiveBlock.weight, weight);
    store64(entry, block);
    clearMarks(block, size);
  } else store64(<u64>FOLLOWED + FollowedHead.refused, load64(<u64>FOLLOWED + FollowedHead.refused) + weight);
  unlock();
}

@inline
function marksOf(block: u64): u64 {
  return ((<u64>1) << (<u64>MARKS_BIT)) + ((block << HIGH_BITS) >> (HIGH_BITS + 2));
}

function clearMarks(block: u64, size: u64): void {
  let at = marksOf(block);
  const end = marksOf(block + size - 1) + 1;
  if (end - at >= GIVEN_BACK) {
    const first = (at + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    const last = end & ~(PAGE_BYTES - 1);
    syscall3(MADVISE, first, last - first, MADV_REMOVE);
    for (; at < first; at++) store8(at, 0);
    at = last;
  }
  // Blocks begin at multiples of 16, so that no other one has these marks.
  for (; at < end; at += 4) store32(at, 0);
}

/** Returns the entry of a block, or a free one for it if `wanted` is 0; 0 if there is none. */
@inline
function entryOf(block: u64, wanted: u64): u64 {
  // Addresses at equal distances would meet in few places after one multiplication.
  const mixed = block * MIXER;
  const first = (((mixed ^ (mixed >> 32)) * MIXER) >> (64 - <u64>LIVE_BITS)) & ~(TRIES - 1);
  for (let i: u64 = 0; i < TRIES; i++) {
    const entry = <u64>FOLLOWED + FollowedHead.live + (first + i) * <u64>LIVE_BYTES;
    if (load64(entry) === wanted) return entry;
  }
  return 0;
}

/** Ends a block, before its shadow words are changed. */
@inline
export function endBlock(block: u64): void {
  const entry = entryOf(block, block);
  if (entry !== 0) endFollowed(entry, block);
}

/** Follows a block no further. Its bytes live on in the block that `realloc` returns. */
@inline
export function dropBlock(block: u64): void {
  const entry = entryOf(block, block);
  if (entry !== 0) store64(entry, 0);
}

function endFollowed(entry: u64, block: u64): void {
  const site = <u64>FOLLOWED + load32(entry + LiveBlock.site);
  const size: u64 = load32(entry + LiveBlock.size);
  const weight = load64(entry + LiveBlock.weight);
  store64(entry, 0);
  store64(site + FollowedSite.blocks, load64(site + FollowedSite.blocks) + weight);
  store64(site + FollowedSite.bytes, load64(site + FollowedSite.bytes) + weight * size);
  const smallest = load32(site + FollowedSite.smallest);
  if (smallest === 0 || size < smallest) store32(site + FollowedSite.smallest, <u32>size);
  if (size > load32(site + FollowedSite.largest)) store32(site + FollowedSite.largest, <u32>size);
  noteFates(site, block, size, weight);
  // Reading marks of untouched memory has made them exist.
  if (size >= GIVEN_BACK * GRANULE_BYTES) clearMarks(block, size);
}

@inline
function wordsOf(block: u64): u64 {
  return <u64>SHADOW + ((block << HIGH_BITS) >> (HIGH_BITS - 1));
}

@inline
function isWritten(word: u64): bool {
  return word !== 0 && word !== <u64>INVALID * LOWEST;
}

function noteFates(site: u64, block: u64, size: u64, weight: u64): void {
  const followed = min(size, <u64>MOST_FOLLOWED);
  let words = wordsOf(block);
  let mark = marksOf(block);
  let fate = site + FollowedSite.fates;
  let unread: u64 = 0;
  let united: u32 = 0;
  for (let done: u64 = 0; done < followed; done += GRANULE_BYTES, words += 8, mark++, fate++) {
    const isRead = load8(mark) !== 0;
    const found: u32 = (isRead ? Fate.read : 0) | (isWritten(load64(words)) ? Fate.written : 0);
    if (found === Fate.written) unread += GRANULE_BYTES;
    united |= found;
    if (found !== 0) store8(fate, load8(fate) | found);
  }
  // The beginning stands for the rest: to read the shadow words of untouched memory would make them exist.
  if (size > followed) unread = (unread * size) / followed;
  store64(site + FollowedSite.neverRead, load64(site + FollowedSite.neverRead) + weight * unread);
  if (united !== Fate.written || (size > followed && !isWrittenAllOver(block, size))) return;
  for (const end = marksOf(block + size - 1) + 1; mark < end; mark++) if (load8(mark) !== 0) return;
  store64(site + FollowedSite.unread, load64(site + FollowedSite.unread) + weight);
  store64(site + FollowedSite.unreadBytes, load64(site + FollowedSite.unreadBytes) + weight * size);
}

/** Returns whether looks at equal distances find stored bytes. Marks of a block that is hardly touched are not read. */
function isWrittenAllOver(block: u64, size: u64): bool {
  for (let look: u64 = 0; look < LOOKS; look++) {
    let words = wordsOf((block + ((size - LOOK_BYTES) / LOOKS) * look) & ~(LOOK_BYTES - 1));
    const end = words + 2 * LOOK_BYTES;
    while (words < end && !isWritten(load64(words))) words += 8;
    if (words === end) return false;
  }
  return true;
}

/** Finds or makes the record of the blocks of a context. Returns 0 if there is no room. */
function siteOf(node: u32): u64 {
  let hash = <u32>((<u64>node * MIXER) >> (64 - <u64>FOLLOWED_SITES_BITS));
  for (let i: u32 = 0; i < SITE_TRIES; i++) {
    const entry = <u64>FOLLOWED_SITES + 4 * <u64>hash;
    const place = load32(entry);
    if (place === 0) return newSite(entry, node);
    if (load32(<u64>FOLLOWED + place) === node) return <u64>FOLLOWED + place;
    hash = (hash + 1) & ((1 << FOLLOWED_SITES_BITS) - 1);
  }
  return 0;
}

function newSite(entry: u64, node: u32): u64 {
  const sites = load32(<u64>FOLLOWED + FollowedHead.sites);
  const place = FOLLOWED_SITES - FOLLOWED + (4 << FOLLOWED_SITES_BITS) + sites * FOLLOWED_SITE_BYTES;
  if (place + FOLLOWED_SITE_BYTES > FOLLOWED_BYTES) return 0;
  store32(<u64>FOLLOWED + FollowedHead.sites, sites + 1);
  store32(<u64>FOLLOWED + place, node);
  store32(entry, place);
  return <u64>FOLLOWED + place;
}
