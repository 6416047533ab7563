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
    noteFates(
      view,
      site,
      { size, weight },
      counts.words(address, address + size),
      counts.marks(address, address + size),
    );
  }
}

function noteFates(
  view: DataView,
  site: number,
  { size, weight }: { size: number; weight: number },
  words: Uint16Array,
  marks: Uint8Array,
): void {
  let unread = 0;
  let united = 0;
  for (let granule = 0; granule * GRANULE_BYTES < size; granule++) {
    const ids = words.subarray(granule * GRANULE_BYTES, (granule + 1) * GRANULE_BYTES);
    const isWritten = ids.some((id) => id !== UNTOUCHED && id !== INVALID);
    const fate = (marks[granule] === 0 ? 0 : Fate.read) | (isWritten ? Fate.written : 0);
    if (fate === Fate.written) unread += GRANULE_BYTES;
    if (granule * GRANULE_BYTES >= MOST_FOLLOWED) continue;
    united |= fate;
    const at = site + FollowedSite.fates + granule;
    view.setUint8(at, view.getUint8(at) | fate);
  }
  add(view, site + FollowedSite.neverRead, weight * unread);
  if (united !== Fate.written || marks.some((mark) => mark !== 0)) return;
  add(view, site + FollowedSite.unread, weight);
  add(view, site + FollowedSite.unreadBytes, weight * size);
}

function add(view: DataView, at: number, more: number): void {
  view.setBigUint64(at, view.getBigUint64(at, true) + BigInt(more), true);
}
