import { KIB, LINE_BYTES, MIB, WASM_PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { indexTableBytes } from "../../contexts/frames/index-table.ts";
import { NODE_BYTES } from "../../contexts/layout.ts";
import type { WasteOptions } from "../options.ts";
import { constantsOf } from "../table-layout.ts";
import {
  BLOCK_BYTES,
  CONTROL_BYTES,
  Control,
  DIRTY_LINE_SHIFT,
  Load,
  OBJECT_SITE_BYTES,
  PAIR_BYTES,
  PATH_BLOCKS_BYTES,
  PATH_BYTES,
  READS_BYTES,
  STORE_IDS_BYTES,
  Store,
  VALUES_BYTES,
} from "./layout.ts";

export const LARGEST_MEMORY_BYTES = 4096 * MIB;
/**
 * Bytes of a record, as shifts. In summary mode they are as short as their fields allow: first reads touch two records
 * each, and more of them fit in the processor's cache.
 */
export const RECORD_SHIFTS = {
  precise: { stores: 7, loads: 7 },
  summary: { stores: 6, loads: 5 },
  /** Records in frames follow each other, and loads are identified by their addresses. */
  framed: { stores: 3, loads: 0 },
} as const;
/**
 * Counters of a site that inline code increments, a u64 each. First: runs of the basic block that begins with it.
 * Second: silent stores, or loads of bytes that were not all read.
 */
export const SITE_COUNTERS_BYTES = 16;
export const SITE_EVENTS = 8;
/** Number of ids of 16 bits; bytes of tables per id. */
const IDS = 65_536;
const ID_BYTES = 5;

export type WasteLayout = ReturnType<typeof planWaste>;

export interface WasteWishes {
  /** Largest size that the program's memory can reach, bytes. */
  memoryBytes: number;
  /** Largest size that engines give the memory, pages, unless the program limits it further. */
  mostPages: number;
  stores: number;
  loads: number;
  sites: number;
  engine: "brief" | "full";
  contexts: boolean;
  objects: boolean;
  /** True if blocks are grouped by call path; and if the tool keeps the shadow stack for that itself. */
  paths?: boolean | undefined;
  ownStack?: boolean | undefined;
  /** True if the host may read memory without reporting it. */
  opaque: boolean;
  /** Functions of the module, and bytes of one frame of each, in summary mode with contexts. */
  frames?: { functions: number; bytes: number } | undefined;
  mostIds?: number | undefined;
}

const CONTEXT_KEYS = 512 * KIB;
const CONTEXT_NODES = 2 * MIB;
const FRAMES_BYTES = 1024 * MIB;
/** Space for ids that are no stores, if records are in frames. */
const NO_RECORDS_BYTES = 64;
const PAIRS = 1 * MIB;
const INDEX_ENTRIES = 4 * MIB;
/** Entries if only sites that allocate, free or return are looked up. */
const PLACE_ENTRIES = 64 * KIB;
const BLOCKS = 4 * MIB;
const ALLOCATION_SITES = 2 * KIB;
/** Numbers of paths have 16 bits. */
const PATHS = 16 * KIB;
const FATES_BYTES = 64 * MIB;
const STACK_BYTES = 64 * MIB;
/** Bytes below the stack: the host word at their start, a frame of zeros at their end. */
export const STACK_BASE_BYTES = 64;

/** Bytes of read marks and of block paths per byte of program memory. */
const BLOCK_FACTS = 1 / 4 + 1 / 4;

/**
 * Returns the bytes of tables per byte of program memory. `bytes`: shadow memory, sizes of blocks, blocks of granules
 * and dirty lines. `words`: writers and readers, which summary mode touches only once ids have run out.
 */
export function wasteBytesPerByte({
  engine,
  objects,
  opaque,
}: Pick<WasteWishes, "engine" | "objects" | "opaque">): {
  bytes: number;
  words: number;
} {
  const isPrecise = engine === "full";
  const dirty = (1 + 4) / 2 ** DIRTY_LINE_SHIFT;
  return {
    bytes: (isPrecise ? 1 : 2 + BLOCK_FACTS) + 0.5 + (objects ? 0.5 : 0) + (opaque ? dirty : 0),
    words: isPrecise ? 8 : 4,
  };
}

export function wasteBytesTouched(wishes: Pick<WasteWishes, "engine" | "objects">): number {
  const { bytes, words } = wasteBytesPerByte({ ...wishes, opaque: true });
  return wishes.engine === "full" ? bytes + words : bytes;
}

/** True if writers, readers and values are recorded per byte, instead of one id. */
export function isPreciseMode({ pairs, objects }: WasteOptions): boolean {
  return Boolean(pairs || objects);
}

/** Places the tables after the shadow memory, which covers as much of the program's memory as there is room for. */
export function planWaste(wishes: WasteWishes) {
  const isPrecise = wishes.engine === "full";
  const { contexts, frames } = wishes;
  const shifts = RECORD_SHIFTS[isPrecise ? "precise" : frames ? "framed" : "summary"];
  const contextKeys = contexts ? CONTEXT_KEYS : 0;
  const storeCapacity = frames ? 0 : contextKeys + wishes.stores + (isPrecise ? 1 : ShadowIds.first);
  const loadCapacity = frames ? 0 : contextKeys + wishes.loads + 1;
  const pairCapacity = isPrecise ? PAIRS : 0;
  const nodeCapacity = contexts ? CONTEXT_NODES : 0;
  const indexCapacity = contexts ? INDEX_ENTRIES : isPrecise ? PLACE_ENTRIES : 0;
  const blockCapacity = wishes.objects ? BLOCKS : 0;
  const siteCapacity = wishes.objects ? ALLOCATION_SITES : 0;
  const pathCapacity = wishes.paths ? PATHS : 0;
  const hasBlocks = wishes.paths === true && !isPrecise;
  const stackBytes = wishes.ownStack ? STACK_BYTES : 0;
  const counters = isPrecise || frames ? 0 : wishes.sites * SITE_COUNTERS_BYTES;
  const idTableBytes = isPrecise ? 0 : IDS * ID_BYTES;
  const readsBytes = isPrecise ? 0 : IDS * READS_BYTES;
  const storeIdsBytes = isPrecise ? 0 : storeCapacity * STORE_IDS_BYTES;
  const frameBytes = frames ? FRAMES_BYTES + frames.bytes + (frames.functions + 1) * 4 : 0;
  const storeRecords = storeCapacity << shifts.stores;
  const loadRecords = loadCapacity << shifts.loads;
  const tables =
    CONTROL_BYTES +
    frameBytes +
    idTableBytes +
    storeIdsBytes +
    readsBytes +
    storeRecords +
    loadRecords +
    counters +
    (isPrecise ? loadCapacity * VALUES_BYTES : 0) +
    pairCapacity * PAIR_BYTES +
    nodeCapacity * NODE_BYTES +
    indexTableBytes(indexCapacity) +
    blockCapacity * BLOCK_BYTES +
    siteCapacity * OBJECT_SITE_BYTES +
    pathCapacity * PATH_BYTES +
    (hasBlocks ? pathCapacity * PATH_BLOCKS_BYTES + FATES_BYTES : 0) +
    stackBytes;
  const { bytes: perByte, words: wordsPerByte } = wasteBytesPerByte(wishes);
  const room = LARGEST_MEMORY_BYTES - WASM_PAGE_BYTES * 16 - tables;
  const wanted = Math.ceil(wishes.memoryBytes / WASM_PAGE_BYTES) * WASM_PAGE_BYTES;
  const isSplit = wanted * (perByte + wordsPerByte) > room;
  const covered = Math.min(
    wanted,
    Math.floor(room / (isSplit ? perByte : perByte + wordsPerByte) / WASM_PAGE_BYTES) * WASM_PAGE_BYTES,
    isSplit ? LARGEST_MEMORY_BYTES / 4 : wanted,
  );
  let end = covered * (isPrecise ? 1 : 2);
  const place = (bytes: number, unit = 16): number => {
    const at = Math.ceil(end / unit) * unit;
    end = at + bytes;
    return at;
  };
  const placeWords = (isThere: boolean): number =>
    isThere && !isSplit ? place(covered * 4, WASM_PAGE_BYTES) : 0;
  const writers = placeWords(true);
  const readers = placeWords(isPrecise);
  const seen = 0;
  // The tables lie far above the addresses that a store just above the covered memory could reach.
  const control = place(CONTROL_BYTES, WASM_PAGE_BYTES);
  const layout = {
    /** Bytes of program memory that the tool covers. */
    covered,
    /** True if writers and readers have a memory each, in this order after the one with everything else. */
    isSplit,
    /** A u32 per byte of program memory with its last store. Summary mode uses it only for stores without an id. */
    writers,
    readers,
    seen,
    control,
    /** Distance between the records of two consecutive stores or loads, as a shift. */
    recordShift: shifts.stores,
    loadShift: shifts.loads,
    // No record crosses a line of the caches.
    stores: place(frames ? NO_RECORDS_BYTES : storeRecords, LINE_BYTES),
    storeCapacity,
    loads: frames ? 0 : place(loadRecords, LINE_BYTES),
    loadCapacity,
    /** Counters of inline code, `SITE_COUNTERS_BYTES` per site. Summary mode only, without contexts. */
    counters: place(counters),
    /** The id of each store four times, zero while it has none. In frames they precede the records. */
    storeIds: place(storeIdsBytes),
    /**
     * A u64 per id: bytes of its store that were read since it has the id. In a table of their own they take less of the
     * processor's cache than in the records.
     */
    reads: place(readsBytes, LINE_BYTES),
    sizes: place(covered / 2),
    /** Frames of contexts, which hold the records: their start, and the limit of the frames of contexts. 0: no frames. */
    arena: frames ? place(FRAMES_BYTES + frames.bytes) : 0,
    arenaLimit: frames ? end - frames.bytes : 0,
    lastFrames: frames ? place((frames.functions + 1) * 4) : 0,
    /** A u32 per id, the distance of its record from `stores`, and a byte per id. Summary mode only. */
    recordOf: isPrecise ? 0 : place(idTableBytes),
    lastId: ShadowIds.first - 1 + Math.min(wishes.mostIds ?? IDS, ShadowIds.overflow - ShadowIds.first),
    /** Values that redundant loads find, `VALUES_BYTES` per load record. Precise mode only. */
    values: place(isPrecise ? loadCapacity * VALUES_BYTES : 0),
    pairs: place(pairCapacity * PAIR_BYTES),
    pairCapacity,
    nodes: place(nodeCapacity * NODE_BYTES),
    nodeCapacity,
    index: place(indexTableBytes(indexCapacity)),
    indexCapacity,
    blockOf: place(wishes.objects ? covered / 2 : 0),
    blocks: place(blockCapacity * BLOCK_BYTES),
    blockCapacity,
    sites: place(siteCapacity * OBJECT_SITE_BYTES),
    siteCapacity,
    /** Call paths of allocations; 0: not recorded. */
    paths: pathCapacity === 0 ? 0 : place(pathCapacity * PATH_BYTES),
    pathCapacity,
    pathBlocks: hasBlocks ? place(pathCapacity * PATH_BLOCKS_BYTES) : 0,
    fates: hasBlocks ? place(FATES_BYTES) : 0,
    fatesEnd: hasBlocks ? end : 0,
    /**
     * Accesses to the blocks of each path, in summary mode: read marks (a byte per 4 bytes of program memory), the path
     * of the block that starts there (a u16 per 8 bytes), sums per path, and fates of granules. 0: not recorded.
     */
    readMarks: hasBlocks ? place(covered / 4) : 0,
    blockPath: hasBlocks ? place(covered / 4) : 0,
    /** Shadow stack, unless another tool keeps one: a host word, then frames. 0: none. */
    stackWord: stackBytes === 0 ? 0 : place(stackBytes),
    /**
     * Dirty lines, if the host is opaque: a byte per line of 256 bytes of program memory, and room for a list of all
     * lines.
     */
    dirty: wishes.opaque ? place(covered / 2 ** DIRTY_LINE_SHIFT) : 0,
    dirtyList: wishes.opaque ? place((covered / 2 ** DIRTY_LINE_SHIFT) * 4) : 0,
  };
  return { ...layout, endBytes: Math.ceil(end / WASM_PAGE_BYTES) * WASM_PAGE_BYTES };
}

/**
 * Returns the address where the beginnings of a loop are counted. It is in the record of one of its accesses, since
 * plain ones leave fields unused.
 */
export function begunAt(
  layout: Pick<WasteLayout, "stores" | "recordShift" | "loads" | "loadShift">,
  key: number,
  { isStore, isPrecise }: { isStore: boolean; isPrecise: boolean },
): number {
  return isStore
    ? layout.stores + key * 2 ** layout.recordShift + (isPrecise ? Store.begun : Store.written)
    : layout.loads + key * 2 ** layout.loadShift + (isPrecise ? Load.begun : Load.bytes);
}

/** Tables that may have a memory of their own, in the order of their memories. */
export const WORD_TABLES = ["writers", "readers"] as const;

export function ownMemories({ isSplit }: WasteLayout, { engine }: Pick<WasteWishes, "engine">): number {
  if (!isSplit) return 0;
  return engine === "brief" ? 1 : 2;
}

/**
 * Shadow words of summary mode that are no store's id. 0 is memory as the system provided it; `init` was written by a
 * data segment. Ids of stores begin at `first`. `invalid` differs from the id of read bytes only in the lowest bit, so
 * that many words can be checked at once. `overflow` and the id after it mark bytes whose writer has no id and is in a
 * table.
 */
export const ShadowIds = { init: 1, first: 2, overflow: 0xfffc, invalid: 0xfffe } as const;

export const READ_BYTE = 0xffff;

export function wasteConstants(
  layout: WasteLayout,
  wishes: WasteWishes,
  isCompatible: boolean,
): Record<string, number> {
  return {
    ...constantsOf(layout),
    MOST_PAGES: wishes.mostPages,
    FRAMED: layout.arena === 0 ? 0 : 1,
    FRAME_NEXT: layout.control + Control.frameNext,
    FRAMES: layout.arena,
    FRAME_LIMIT: layout.arenaLimit,
    ZERO_IS_VALID: isCompatible ? 0 : 1,
    REALLOC_FORGETS: isCompatible ? 1 : 0,
    INVALID: ShadowIds.invalid,
    INIT: ShadowIds.init,
    OVERFLOW: ShadowIds.overflow,
    PAIR_MASK: layout.pairCapacity - 1,
    BY_CONTEXT: wishes.contexts ? 1 : 0,
    NODE_NEXT: layout.control + Control.nodeNext,
    INDEX_ENTRIES: layout.indexCapacity,
    STORE_SITES: wishes.stores,
    LOAD_SITES: wishes.loads,
    BLOCK_OF: wishes.objects ? layout.blockOf : 0,
    BLOCKS: wishes.objects ? layout.blocks : 0,
    PATH_MASK: layout.pathCapacity - 1,
    MARKS: layout.readMarks,
  };
}
