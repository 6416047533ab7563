import { entryOf } from "../../../../../ground/bytes/entries.ts";
import { getU64, viewOf } from "../../../../../ground/bytes/numbers.ts";
import { loadObject } from "../../../../../names/load/objects.ts";
import { nativeBlockTypes } from "../../../../../names/symbolize/block-types.ts";
import { MODULE_SPAN, type WasteBlocks, type WasteIp } from "../../../../../profile/model/waste.ts";
import { blocksOf } from "../../../../tools/waste/read/blocks-of-paths.ts";
import { GRANULE_BYTES } from "../../../../tools/waste/read/read-path-blocks.ts";
import {
  Fate,
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
  MOST_FOLLOWED,
  UNTOUCHED,
} from "../layout.ts";
import type { CountsFile } from "./counts-file.ts";

export interface BlockCalls {
  /** Returns the calls of a node, innermost first. */
  pathOf: (node: number) => { module: number; address: number }[];
  /** Returns the place of a call; undefined if it is in no followed file. */
  ipOf: (module: number, address: number) => WasteIp | undefined;
  /** Returns the file of a module. */
  fileOf: (module: number) => string | undefined;
  /** Bytes that all stores left unread. */
  mostUnread: number;
}

/** Pieces of a live block that are looked at: all of a block of some megabytes, equally spaced ones of a larger block. */
const MOST_PIECES = 64;
const PIECE_BYTES = 2 ** 16;
/** Bytes of a block whose marks are looked at in one step. */
const MARKED_PIECE = 2 ** 24;

const FIRST_SITE = FOLLOWED_SITES - FOLLOWED + 4 * 2 ** FOLLOWED_SITES_BITS;

/** Returns the blocks of each allocating call path, and which of their bytes were used. Live blocks end now. */
export function followedBlocks(counts: CountsFile, calls: BlockCalls): WasteBlocks[] {
  const view = viewOf(counts.bytes(FOLLOWED, FOLLOWED + FOLLOWED_BYTES));
  const count = view.getUint32(FollowedHead.sites, true);
  endLive(view, counts);
  const types = new Map<number, ReturnType<typeof nativeBlockTypes>>();
  const typeAt = (place: number, smallest: number, largest: number) => {
    const module = Math.floor(place / MODULE_SPAN);
    const find = entryOf(types, module, () => typesOfFile(calls.fileOf(module)));
    return find?.(place % MODULE_SPAN, smallest, largest);
  };
  const sites = Array.from({ length: count }, (_, i) => FIRST_SITE + i * FOLLOWED_SITE_BYTES);
  return sites.flatMap((at) => {
    const path = calls.pathOf(view.getUint32(at + FollowedSite.node, true));
    const ips = path.map(
      ({ module, address }) => calls.ipOf(module, address) ?? { address: module * MODULE_SPAN + address },
    );
    const size = view.getUint32(at + FollowedSite.largest, true);
    if (size === 0 || ips.length === 0) return [];
    const granules = Math.ceil(Math.min(size, MOST_FOLLOWED) / GRANULE_BYTES);
    const fates = Uint8Array.from({ length: granules }, (_, i) => view.getUint8(at + FollowedSite.fates + i));
    const figures = {
      path: path.map(({ module, address }) => module * MODULE_SPAN + address),
      blocks: getU64(view, at + FollowedSite.blocks),
      bytes: getU64(view, at + FollowedSite.bytes),
      size,
      smallest: view.getUint32(at + FollowedSite.smallest, true),
      unread: getU64(view, at + FollowedSite.unread),
      unreadBytes: getU64(view, at + FollowedSite.unreadBytes),
      neverRead: Math.min(getU64(view, at + FollowedSite.neverRead), calls.mostUnread),
      fates,
      tail: size > MOST_FOLLOWED,
    };
    return [blocksOf(figures, ips, () => typeAt, 0)];
  });
}

function typesOfFile(path: string | undefined): ReturnType<typeof nativeBlockTypes> {
  return path === undefined ? undefined : nativeBlockTypes(loadObject(path).object);
}

/** Ends the blocks that are live, as the program does with those that it frees. */
function endLive(view: DataView, counts: CountsFile): void {
  for (let i = 0; i < 2 ** LIVE_BITS; i++) {
    const at = FollowedHead.live + i * LIVE_BYTES;
    const address = getU64(view, at + LiveBlock.address);
    if (address === 0) continue;
    const site = view.getUint32(at + LiveBlock.site, true);
    const size = view.getUint32(at + LiveBlock.size, true);
    const weight = getU64(view, at + LiveBlock.weight);
    add(view, site + FollowedSite.blocks, weight);
    add(view, site + FollowedSite.bytes, weight * size);
    const smallest = view.getUint32(site + FollowedSite.smallest, true);
    view.setUint32(site + FollowedSite.smallest, smallest === 0 ? size : Math.min(smallest, size), true);
    const largest = view.getUint32(site + FollowedSite.largest, true);
    view.setUint32(site + FollowedSite.largest, Math.max(largest, size), true);
    noteFates(view, site, { address, size, weight }, counts);
  }
}

function noteFates(
  view: DataView,
  site: number,
  { address, size, weight }: { address: number; size: number; weight: number },
  counts: CountsFile,
): void {
  let united = 0;
  const note = (at: number, fate: number): void => {
    if (at >= MOST_FOLLOWED) return;
    united |= fate;
    const place = site + FollowedSite.fates + at / GRANULE_BYTES;
    view.setUint8(place, view.getUint8(place) | fate);
  };
  let [seen, unread] = [0, 0];
  const stride = PIECE_BYTES * Math.ceil(size / PIECE_BYTES / MOST_PIECES);
  for (let piece = 0; piece < size; piece += stride) {
    const end = Math.min(size, piece + PIECE_BYTES);
    seen += end - piece;
    const words = counts.words(address + piece, address + end);
    const marks = counts.marks(address + piece, address + end);
    for (let at = piece; at < end; at += GRANULE_BYTES) {
      const ids = words.subarray(at - piece, at - piece + GRANULE_BYTES);
      const isRead = marks[(at - piece) / GRANULE_BYTES] !== 0;
      const fate = (isRead ? Fate.read : 0) | (ids.some(isWritten) ? Fate.written : 0);
      if (fate === Fate.written) unread += GRANULE_BYTES;
      note(at, fate);
    }
  }
  add(view, site + FollowedSite.neverRead, weight * Math.round((unread * size) / seen));
  if (united !== Fate.written || isAnyRead(counts, address, size)) return;
  add(view, site + FollowedSite.unread, weight);
  add(view, site + FollowedSite.unreadBytes, weight * size);
}

function isWritten(id: number): boolean {
  return id !== UNTOUCHED && id !== INVALID;
}

function isAnyRead(counts: CountsFile, address: number, size: number): boolean {
  for (let piece = 0; piece < size; piece += MARKED_PIECE) {
    const marks = counts.marks(address + piece, address + Math.min(size, piece + MARKED_PIECE));
    if (marks.some((mark) => mark !== 0)) return true;
  }
  return false;
}

function add(view: DataView, at: number, more: number): void {
  view.setBigUint64(at, view.getBigUint64(at, true) + BigInt(more), true);
}
