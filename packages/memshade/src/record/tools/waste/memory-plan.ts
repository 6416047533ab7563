import { indexTableBytes } from "../../contexts/frames/index-table.ts";
import { NODE_BYTES } from "../../contexts/layout.ts";
import type { WasteOptions } from "../options.ts";
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

const KIB = 1024;
const MIB = KIB * KIB;
export const PAGE_BYTES = 64 * KIB;
/** Bytes of a line of the processor's cache: records do not lie in two. */
const LINE_BYTES = 64;
export const LARGEST_MEMORY_BYTES = 4096 * MIB;
/**
 * Bytes of a record, as shifts. With one id per byte they are as short as their fields allow: so more of them stay in the
 * processor's cache, where first reads look for two of them each.
 */
export const RECORD_SHIFTS = {
  precise: { stores: 7, loads: 7 },
  summary: { stores: 6, loads: 5 },
  /** In frames they are one behind the other, and loads are known by their addresses. */
  framed: { stores: 3, loads: 0 },
} as const;
/**
 * Counters of a site that inline code adds to, each a u64: runs of the block that begins with it, then silent stores or
 * loads of what was not all read.
 */
export const SITE_COUNTERS_BYTES = 16;
export const SITE_EVENTS = 8;
/** As many numbers have 16 bits; bytes that each of them takes as an id. */
const IDS = 65_536;
const ID_BYTES = 5;

/** Addresses of the tables inside the waste tool's memory, bytes; see `tools/waste/layout.ts`. */
export interface WasteLayout {
  /** Bytes of program memory that are followed. */
  covered: number;
  /** Whether writers and readers have a memory each, in this order behind the one with everything else. */
  isSplit: boolean;
  /** A u32 per byte of program memory with its last store; in summary mode only of stores for which no id was left. */
  writers: number;
  readers: number;
  seen: number;
  control: number;
  stores: number;
  storeCapacity: number;
  loads: number;
  loadCapacity: number;
  /** Distance between the records of neighbouring ids of stores, and numbers of loads, as a shift. */
  recordShift: number;
  loadShift: number;
  /** What inline code counts per site, `SITE_COUNTERS_BYTES` each. Summary mode only, without contexts. */
  counters: number;
  /** Frames of contexts in place of the records: where they begin, how far those of contexts reach. 0: there are none. */
  arena: number;
  arenaLimit: number;
  lastFrames: number;
  /**
   * A u64 per id of 16 bits: bytes of its store that were read, for as long as it has the id. One behind the other they take less of the
   * processor's cache than the records.
   */
  reads: number;
  /** The id of each store four times, or zeros while it has none; frames have theirs in front of records. */
  storeIds: number;
  /**
   * A u32 per id, the distance of its record from `stores`, and a byte per id. Summary mode only.
   */
  recordOf: number;
  /** The last one that is assigned. */
  lastId: number;
  sizes: number;
  /** The values that redundant loads find, `VALUES_BYTES` per load record. Precise mode only. */
  values: number;
  pairs: number;
  pairCapacity: number;
  nodes: number;
  nodeCapacity: number;
  index: number;
  indexCapacity: number;
  blockOf: number;
  blocks: number;
  blockCapacity: number;
  sites: number;
  siteCapacity: number;
  /** Paths of calls below which blocks are asked for; 0: nobody keeps them. */
  paths: number;
  pathCapacity: number;
  /**
   * In summary mode, what became of the blocks of each path: a byte per 4 bytes of program memory that says whether they were read, a
   * u16 per 8 bytes with the path of the block that starts there, sums per path, and fates of granules. 0: nobody keeps them.
   */
  readMarks: number;
  blockPath: number;
  pathBlocks: number;
  fates: number;
  fatesEnd: number;
  /** The shadow stack, where no other tool keeps one: a host word, then frames. 0: there is none. */
  stackWord: number;
  /** A byte per line of 256 bytes of program memory, and room for a list of all lines, where the host is opaque. */
  dirty: number;
  dirtyList: number;
  endBytes: number;
}

export interface WasteWishes {
  /** Largest size the program's memory can reach, bytes. */
  memoryBytes: number;
  /** Pages that the memory can have in engines, if nobody else keeps it smaller. */
  mostPages: number;
  stores: number;
  loads: number;
  sites: number;
  engine: "brief" | "full";
  contexts: boolean;
  objects: boolean;
  /** Blocks are told apart by the paths of calls that ask for them; and the tool keeps the shadow stack for that itself. */
  paths?: boolean | undefined;
  ownStack?: boolean | undefined;
  /** The host may read and says nothing of it. */
  opaque: boolean;
  /** Functions of the module and bytes of a frame of each of them, where summary mode tells contexts apart. */
  frames?: { functions: number; bytes: number } | undefined;
  /** The most ids that are assigned while the program runs. */
  mostIds?: number | undefined;
}

const CONTEXT_KEYS = 512 * KIB;
const CONTEXT_NODES = 2 * MIB;
/** Room for frames of contexts. */
const FRAMES_BYTES = 1024 * MIB;
/** In place of the records of ids that are no stores. */
const NO_RECORDS_BYTES = 64;
const PAIRS = 1 * MIB;
const INDEX_ENTRIES = 4 * MIB;
/** Entries where only places that allocate, free and return are looked up. */
const PLACE_ENTRIES = 64 * KIB;
const BLOCKS = 4 * MIB;
const ALLOCATION_SITES = 2 * KIB;
/** Numbers of paths have 16 bits. */
const PATHS = 16 * KIB;
const FATES_BYTES = 64 * MIB;
/** Eight bytes per frame: more frames than any engine's own stack holds. */
const STACK_BYTES = 64 * MIB;
/** Below the stack: at the start of these bytes the host word, at their end a frame of zeros. */
export const STACK_BASE_BYTES = 64;

/** Bytes per byte of program memory that say what was read in blocks, and whose they are. */
const BLOCK_FACTS = 1 / 4 + 1 / 4;

/**
 * Bytes of tables per byte of program memory: of the shadow, the sizes of blocks, which block a granule belongs to and what an
 * opaque host may have read; and of the words, which summary mode touches only where ids have run out.
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

/** The most of these tables that a program can touch, per byte of its memory. */
export function wasteBytesTouched(wishes: Pick<WasteWishes, "engine" | "objects">): number {
  const { bytes, words } = wasteBytesPerByte({ ...wishes, opaque: true });
  return wishes.engine === "full" ? bytes + words : bytes;
}

/** Whether writers, readers and values are kept per byte, instead of one id. */
export function isPreciseMode({ pairs, objects }: WasteOptions): boolean {
  return Boolean(pairs || objects);
}

/** Places the tables behind the shadow of as much memory as there is room for. */
export function planWaste(wishes: WasteWishes): WasteLayout {
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
  const room = LARGEST_MEMORY_BYTES - PAGE_BYTES * 16 - tables;
  const wanted = Math.ceil(wishes.memoryBytes / PAGE_BYTES) * PAGE_BYTES;
  const isSplit = wanted * (perByte + wordsPerByte) > room;
  const covered = Math.min(
    wanted,
    Math.floor(room / (isSplit ? perByte : perByte + wordsPerByte) / PAGE_BYTES) * PAGE_BYTES,
    isSplit ? LARGEST_MEMORY_BYTES / 4 : wanted,
  );
  let end = covered * (isPrecise ? 1 : 2);
  const place = (bytes: number, unit = 16): number => {
    const at = Math.ceil(end / unit) * unit;
    end = at + bytes;
    return at;
  };
  const placeWords = (isThere: boolean): number => (isThere && !isSplit ? place(covered * 4, PAGE_BYTES) : 0);
  const writers = placeWords(true);
  const readers = placeWords(isPrecise);
  const seen = 0;
  // Tables lie far above what a store just behind the covered memory could reach.
  const control = place(CONTROL_BYTES, PAGE_BYTES);
  const layout = {
    covered,
    isSplit,
    writers,
    readers,
    seen,
    control,
    recordShift: shifts.stores,
    loadShift: shifts.loads,
    stores: place(frames ? NO_RECORDS_BYTES : storeRecords, LINE_BYTES),
    storeCapacity,
    loads: frames ? 0 : place(loadRecords, LINE_BYTES),
    loadCapacity,
    counters: place(counters),
    storeIds: place(storeIdsBytes),
    reads: place(readsBytes, LINE_BYTES),
    sizes: place(covered / 2),
    arena: frames ? place(FRAMES_BYTES + frames.bytes) : 0,
    arenaLimit: frames ? end - frames.bytes : 0,
    lastFrames: frames ? place((frames.functions + 1) * 4) : 0,
    recordOf: isPrecise ? 0 : place(idTableBytes),
    lastId: ShadowIds.first - 1 + Math.min(wishes.mostIds ?? IDS, ShadowIds.overflow - ShadowIds.first),
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
    paths: pathCapacity === 0 ? 0 : place(pathCapacity * PATH_BYTES),
    pathCapacity,
    pathBlocks: hasBlocks ? place(pathCapacity * PATH_BLOCKS_BYTES) : 0,
    fates: hasBlocks ? place(FATES_BYTES) : 0,
    fatesEnd: hasBlocks ? end : 0,
    readMarks: hasBlocks ? place(covered / 4) : 0,
    blockPath: hasBlocks ? place(covered / 4) : 0,
    stackWord: stackBytes === 0 ? 0 : place(stackBytes),
    dirty: wishes.opaque ? place(covered / 2 ** DIRTY_LINE_SHIFT) : 0,
    dirtyList: wishes.opaque ? place((covered / 2 ** DIRTY_LINE_SHIFT) * 4) : 0,
  };
  return { ...layout, endBytes: Math.ceil(end / PAGE_BYTES) * PAGE_BYTES };
}

/** Address where the beginnings of a loop are counted, in the record of one of its accesses: plain ones do not need all fields. */
export function begunAt(
  layout: Pick<WasteLayout, "stores" | "recordShift" | "loads" | "loadShift">,
  key: number,
  { isStore, isPrecise }: { isStore: boolean; isPrecise: boolean },
): number {
  return isStore
    ? layout.stores + key * 2 ** layout.recordShift + (isPrecise ? Store.begun : Store.written)
    : layout.loads + key * 2 ** layout.loadShift + (isPrecise ? Load.begun : Load.bytes);
}

/** Tables that may have a memory of their own, in the order of these. */
export const WORD_TABLES = ["writers", "readers"] as const;

/** How many tables have a memory of their own. */
export function ownMemories({ isSplit }: WasteLayout, { engine }: Pick<WasteWishes, "engine">): number {
  if (!isSplit) return 0;
  return engine === "brief" ? 1 : 2;
}

/**
 * What a shadow word of summary mode means that is no store's id: 0 is memory as the system gave it, `init` was put
 * there by a data segment. Ids of stores are `first` and up: numbers of store sites from 1, plus `first - 1`. `invalid`, with 16 bits
 * only, differs in nothing but the lowest bit from the id of read bytes: so many words at once show that nobody's bytes are in them.
 * `overflow` and the one behind it: the writer has no id, and stands in a table.
 */
export const ShadowIds = { init: 1, first: 2, overflow: 0xfffc, invalid: 0xfffe } as const;

/** The id of bytes that were read since they were written. */
export const READ_BYTE = 0xffff;

/** Values of the shadow runtime's imported constants. */
export function wasteConstants(
  layout: WasteLayout,
  wishes: WasteWishes,
  isCompatible: boolean,
): Record<string, number> {
  return {
    COVERED: layout.covered,
    MOST_PAGES: wishes.mostPages,
    CONTROL: layout.control,
    STORES: layout.stores,
    LOADS: layout.loads,
    RECORD_SHIFT: layout.recordShift,
    LOAD_SHIFT: layout.loadShift,
    FRAMED: layout.arena === 0 ? 0 : 1,
    FRAME_NEXT: layout.control + Control.frameNext,
    FRAMES: layout.arena,
    FRAME_LIMIT: layout.arenaLimit,
    LAST_FRAMES: layout.lastFrames,
    SIZES: layout.sizes,
    ZERO_IS_VALID: isCompatible ? 0 : 1,
    REALLOC_FORGETS: isCompatible ? 1 : 0,
    WRITERS: layout.writers,
    INVALID: ShadowIds.invalid,
    INIT: ShadowIds.init,
    OVERFLOW: ShadowIds.overflow,
    LAST_ID: layout.lastId,
    RECORD_OF: layout.recordOf,
    STORE_IDS: layout.storeIds,
    READS: layout.reads,
    READERS: layout.readers,
    SEEN: layout.seen,
    VALUES: layout.values,
    PAIRS: layout.pairs,
    PAIR_MASK: layout.pairCapacity - 1,
    BY_CONTEXT: wishes.contexts ? 1 : 0,
    NODE_NEXT: layout.control + Control.nodeNext,
    NODES: layout.nodes,
    NODE_CAPACITY: layout.nodeCapacity,
    INDEX: layout.index,
    INDEX_ENTRIES: layout.indexCapacity,
    STORE_SITES: wishes.stores,
    LOAD_SITES: wishes.loads,
    STORE_CAPACITY: layout.storeCapacity,
    LOAD_CAPACITY: layout.loadCapacity,
    DIRTY: layout.dirty,
    DIRTY_LIST: layout.dirtyList,
    BLOCK_OF: wishes.objects ? layout.blockOf : 0,
    BLOCKS: wishes.objects ? layout.blocks : 0,
    BLOCK_CAPACITY: layout.blockCapacity,
    SITES: layout.sites,
    SITE_CAPACITY: layout.siteCapacity,
    PATHS: layout.paths,
    PATH_MASK: layout.pathCapacity - 1,
    MARKS: layout.readMarks,
    BLOCK_PATH: layout.blockPath,
    PATH_BLOCKS: layout.pathBlocks,
    FATES: layout.fates,
    FATES_END: layout.fatesEnd,
  };
}
