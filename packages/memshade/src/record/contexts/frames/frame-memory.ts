import { LINE_BYTES, MIB } from "../../../ground/bytes/sizes.ts";
import { NODE_BYTES, SLOT_BYTES } from "../layout.ts";
import { indexTableBytes } from "./index-table.ts";

const FRAMES_BYTES = 256 * MIB;
const NODES = MIB;
const INDEX_ENTRIES = 2 * MIB;

export interface FrameMemory {
  readonly arena: number;
  readonly arenaLimit: number;
  readonly lastFrames: number;
  readonly nodes: number;
  readonly nodeCapacity: number;
  readonly index: number;
  readonly indexEntries: number;
}

/** Words of the frames beside their tables: offsets in bytes. All are zero at the start. */
export const FrameWord = { frameNext: 0, nodeNext: 4, hostWord: 8, rootSlot: 16 } as const;
export const FRAME_WORDS_BYTES = FrameWord.rootSlot + SLOT_BYTES;

/**
 * Places the tables one after another. `functions`: number of the module's functions. `frameBytes`: size of one frame
 * of each, with its slots.
 */
export function placeFrameMemory(
  from: number,
  { functions, frameBytes }: { readonly functions: number; readonly frameBytes: number },
): FrameMemory & { readonly framesEnd: number } {
  let end = from;
  const place = (bytes: number): number => {
    const at = Math.ceil(end / LINE_BYTES) * LINE_BYTES;
    end = at + bytes;
    return at;
  };
  const arena = place(FRAMES_BYTES);
  const arenaLimit = place(frameBytes);
  return {
    arena,
    arenaLimit,
    nodeCapacity: NODES,
    indexEntries: INDEX_ENTRIES,
    lastFrames: place((functions + 1) * 4),
    nodes: place(NODES * NODE_BYTES),
    index: place(indexTableBytes(INDEX_ENTRIES)),
    framesEnd: Math.ceil(end / LINE_BYTES) * LINE_BYTES,
  };
}

export function frameConstants(
  { arena, arenaLimit, lastFrames, nodes, nodeCapacity, index, indexEntries }: FrameMemory,
  { frameNext, nodeNext }: { readonly frameNext: number; readonly nodeNext: number },
): Record<string, number> {
  return {
    FRAMES: arena,
    FRAME_NEXT: frameNext,
    FRAME_LIMIT: arenaLimit,
    LAST_FRAMES: lastFrames,
    NODES: nodes,
    NODE_NEXT: nodeNext,
    NODE_CAPACITY: nodeCapacity,
    INDEX: index,
    INDEX_ENTRIES: indexEntries,
  };
}
