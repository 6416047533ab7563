import { KIB, LINE_BYTES, MIB, WASM_PAGE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { frameConstants } from "../../../contexts/frames/frame-memory.ts";
import { indexTableBytes } from "../../../contexts/frames/index-table.ts";
import { NODE_BYTES } from "../../../contexts/layout.ts";
import type { AttributionOptions } from "../../options.ts";
import { constantsOf, describedLayout } from "../../table-layout.ts";

import { BLOCK_BYTES, ENTRY_BYTES, FREED_BYTES, OWNED_BYTES, STATE_BYTES, State } from "./layout.ts";

const LARGEST_MEMORY_BYTES = 4096 * MIB;
const GRANULE_BYTES = 8;
const TOUCHER_BYTES = 4;
const BLOCKS = 4 * MIB;
const FREED = MIB;
/** Entries for lines with several owners, besides one per line. */
const OWNED = 4 * MIB;
const TABLE_ENTRIES = 128 * KIB;
/**
 * Room for the lists of all snapshots; and for the short lists of snapshots without room: one entry per kind and
 * bucket.
 */
const LISTS_BYTES = 64 * MIB;
const SHORT_LIST_BYTES = 8 + 3 * 16 * ENTRY_BYTES;
const FRAMES_BYTES = 256 * MIB;
const NODES = MIB;
const INDEX_ENTRIES = 2 * MIB;
/** Accesses just above the covered memory must not touch other tables. */
const MARGIN_BYTES = 64;

/** Addresses of the attribution's tables, whose fields are in `layout.ts`. */
export type AttributionLayout = ReturnType<typeof planAttribution>;

export interface AttributionWishes extends Record<keyof AttributionOptions, boolean> {
  from: number;
  /** Largest size that the program's memory can reach, bytes; and its lines, with one for all addresses beyond. */
  memoryBytes: number;
  lines: number;
  snapshots: number;
  /** Functions of the module, and bytes of one frame of each. */
  functions: number;
  frameBytes: number;
  slots: string;
  wrappers: string;
}

export function planAttribution(wishes: AttributionWishes) {
  const { firstTouch, fill, owners } = wishes;
  const perByte = fill || owners ? followedBytesPerByte(wishes) : 0;
  const wanted = perByte === 0 ? 0 : Math.ceil(wishes.memoryBytes / WASM_PAGE_BYTES) * WASM_PAGE_BYTES;
  const otherBytes = place(wishes, 0).endBytes;
  const room = LARGEST_MEMORY_BYTES - WASM_PAGE_BYTES - otherBytes;
  const covered =
    wanted === 0 ? 0 : Math.min(wanted, Math.floor(room / perByte / WASM_PAGE_BYTES) * WASM_PAGE_BYTES);
  return { ...place(wishes, covered), firstTouch, fill, owners, isLimited: covered < wanted };
}

/** Returns the bytes of tables per byte of program memory. */
export function attributionBytesPerByte(options: AttributionOptions): number {
  const { firstTouch = false, fill = false, owners = false } = options;
  const touchers = firstTouch ? TOUCHER_BYTES / LINE_BYTES : 0;
  return touchers + (fill || owners ? followedBytesPerByte({ fill, owners }) : 0);
}

/** Returns the same for the tables that cover only as much memory as there is room for. */
function followedBytesPerByte({ fill, owners }: Pick<AttributionWishes, "fill" | "owners">): number {
  return 1 + (fill ? 2 : 0) + (owners ? 4 / GRANULE_BYTES + (2 * 4 + OWNED_BYTES) / LINE_BYTES : 0);
}

function place(wishes: AttributionWishes, covered: number) {
  const { firstTouch, fill, owners, frameBytes, snapshots } = wishes;
  let end = wishes.from;
  const at = (bytes: number): number => {
    const from = end;
    end += Math.ceil(bytes / LINE_BYTES) * LINE_BYTES;
    return from;
  };
  const blockCapacity = owners ? BLOCKS : 0;
  const freedCapacity = owners ? FREED : 0;
  const ownedCapacity = owners ? covered / LINE_BYTES + OWNED : 0;
  const hasFrames = firstTouch || owners;
  const state = at(STATE_BYTES);
  const lists = at(LISTS_BYTES);
  const listsLimit = end;
  at(snapshots * SHORT_LIST_BYTES);
  const listsEnd = end;
  const arena = at(hasFrames ? FRAMES_BYTES : 0);
  const arenaLimit = end;
  at(hasFrames ? frameBytes : 0);
  const layout = {
    firstTouch,
    fill,
    owners,
    /** Bytes of the program's memory that are recorded per byte. */
    covered,
    /** True if the program's memory may grow beyond `covered`. */
    isLimited: false,
    state,
    lists,
    listsLimit,
    listsEnd,
    arena,
    arenaLimit,
    lastFrames: at(hasFrames ? (wishes.functions + 1) * 4 : 0),
    nodes: at(hasFrames ? NODES * NODE_BYTES : 0),
    nodeCapacity: NODES,
    index: at(hasFrames ? indexTableBytes(INDEX_ENTRIES) : 0),
    indexEntries: INDEX_ENTRIES,
    table: at(TABLE_ENTRIES * ENTRY_BYTES),
    tableMask: TABLE_ENTRIES - 1,
    used: at(TABLE_ENTRIES * 4),
    blocks: at(blockCapacity * BLOCK_BYTES),
    blockCapacity,
    freed: at(freedCapacity * FREED_BYTES),
    freedCapacity,
    owned: at(ownedCapacity * OWNED_BYTES),
    ownedCapacity,
    touchers: at(firstTouch ? (wishes.lines + 1) * TOUCHER_BYTES : 0),
    bytes: at(covered === 0 ? 0 : covered + MARGIN_BYTES),
    byteStamps: at(fill ? covered * 2 : 0),
    starts: at(owners ? (covered / GRANULE_BYTES) * 4 : 0),
    firsts: at(owners ? (covered / LINE_BYTES) * 4 : 0),
    heads: at(owners ? (covered / LINE_BYTES) * 4 : 0),
    hostWord: hasFrames ? state + State.hostWord : 0,
    rootSlot: state + State.rootSlot,
    /** Calls with a slot in their functions' frames, as written by `encodeSlots`. */
    slots: wishes.slots,
    /** Indices of functions that only pass requests on to the allocator, separated by commas. */
    wrappers: wishes.wrappers,
    endBytes: 0,
  };
  return { ...layout, endBytes: Math.ceil(end / WASM_PAGE_BYTES) * WASM_PAGE_BYTES };
}

/** Returns the shadow address of the key for bulk instructions and the host's accesses. */
export function keyWord({ state }: AttributionLayout): number {
  return state + State.key;
}

export function attributionConstants(layout: AttributionLayout): Record<string, number> {
  return {
    ...constantsOf(layout),
    ...frameConstants(layout, {
      frameNext: layout.state + State.frameNext,
      nodeNext: layout.state + State.nodeNext,
    }),
  };
}

export const PREFIX = "attribution.";

export function attributionLayoutOf(
  described: Readonly<Record<string, number | string | boolean>>,
): AttributionLayout | undefined {
  return describedLayout(PREFIX, described);
}
