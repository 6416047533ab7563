import { decodeModule } from "../../../../../code/wasm/index.ts";
import { bytesOfBase64 } from "../../../../../ground/bytes/base64.ts";
import type { AttributionKind } from "../../../../../profile/model/working-set/working-set.ts";
import { type ContextFrame, FrameTables } from "../../../../contexts/frames/frame-tables.ts";
import { FRAME_HEADER_BYTES } from "../../../../contexts/layout.ts";
import type { WorkingSetLayout } from "../../memory-plan.ts";
import { ENTRY_BYTES, Entry, Key, State } from "../layout.ts";
import type { AttributionLayout } from "../memory-plan.ts";
import { type AttributionEntry, attributeOpenInterval } from "./open-attribution.ts";

const LIST_HEADER = 8;

/**
 * Place of an entry's key: a kind, and for code the code offsets of the instruction and of the calls that led there.
 */
export interface AttributedPlace {
  kind: AttributionKind | "others";
  path: number[];
  /** Name of the object or file that contains it. */
  of?: string | undefined;
}

export interface AttributionTables {
  /** Entries of each snapshot, and of the open interval. */
  snapshots: AttributionEntry[][];
  places: Map<number, AttributedPlace>;
  blocksLost: number;
  freedLost: number;
  listsLost: number;
  ownedLost: number;
  keysLost: number;
  usedBytes: number;
}

/**
 * Reads the tables of one instance. Changes nothing. `lines`: number of lines of the program's memory. `original`: the
 * module before instrumentation.
 */
export function readAttribution(
  memory: WebAssembly.Memory,
  workingSet: WorkingSetLayout,
  layout: AttributionLayout,
  lines: number,
  original: () => Uint8Array,
): AttributionTables {
  const view = new DataView(memory.buffer);
  const word = (offset: number): number => view.getUint32(layout.state + offset, true);
  const snapshots = readLists(view, layout);
  snapshots.push(attributeOpenInterval(memory.buffer, workingSet, layout, lines));
  const keys = new Set(snapshots.flatMap((entries) => entries.map(({ key }) => key)));
  const frameEnd = word(State.frameNext);
  return {
    snapshots,
    places: readPlaces(view, layout, keys, frameEnd, original),
    blocksLost: word(State.blocksLost),
    freedLost: word(State.freedLost),
    listsLost: word(State.listsLost),
    ownedLost: word(State.ownedLost),
    keysLost: word(State.keysLost),
    usedBytes: word(State.lists) + Math.max(0, frameEnd - layout.arena),
  };
}

function readLists(view: DataView, { lists, state }: AttributionLayout): AttributionEntry[][] {
  const end = lists + view.getUint32(state + State.lists, true);
  const snapshots: AttributionEntry[][] = [];
  for (let at = lists; at < end; ) {
    const count = view.getUint32(at, true);
    const entries: AttributionEntry[] = [];
    at += LIST_HEADER;
    for (let i = 0; i < count; i++, at += ENTRY_BYTES) {
      const tag = view.getUint32(at + Entry.tag, true);
      entries.push({
        key: view.getUint32(at + Entry.key, true),
        kind: tag >>> 8,
        bucket: tag & 0xff,
        weight: view.getFloat64(at + Entry.weight, true),
      });
    }
    snapshots.push(entries);
  }
  return snapshots;
}

/** Keys that are no addresses of frames. */
const KINDS: ReadonlyMap<number, AttributedPlace["kind"]> = new Map<number, AttributedPlace["kind"]>([
  [Key.none, "unknown"],
  [Key.stack, "stack"],
  [Key.statics, "static"],
  [Key.heap, "heap"],
  [Key.host, "host"],
  [Key.others, "others"],
  [Key.unknownSite, "unknown"],
]);

function readPlaces(
  view: DataView,
  layout: AttributionLayout,
  keys: ReadonlySet<number>,
  frameEnd: number,
  original: () => Uint8Array,
): Map<number, AttributedPlace> {
  const places = new Map<number, AttributedPlace>();
  const inFrames: number[] = [];
  for (const key of keys) {
    const kind = key === layout.rootSlot ? "host" : KINDS.get(key);
    if (kind !== undefined) places.set(key, { kind, path: [] });
    else if (key >= layout.arena && key < frameEnd) inFrames.push(key);
  }
  if (inFrames.length === 0) return places;
  const module = decodeModule(original());
  const { arena, nodes, slots } = layout;
  const tables = new FrameTables({ arena, nodes, slots: bytesOfBase64(slots) });
  const callersOf = new Map<number, number[]>();
  const wrappers = new Set(
    layout.wrappers.split(",").map((index) => Number(index) - module.importedFunctionCount),
  );
  const isInWrapper = (offset: number): boolean => {
    const position = offset + module.codePayloadStart;
    return module.bodies.some(
      ({ start, end }, defined) => wrappers.has(defined) && position >= start && position < end,
    );
  };
  const frames = tables.frames(view, frameEnd);
  let frame: ContextFrame | undefined;
  let next = frames.next();
  for (const key of inFrames.sort((a, b) => a - b)) {
    while (next.done !== true && next.value.address <= key) {
      frame = next.value;
      next = frames.next();
    }
    if (frame === undefined) continue;
    let callers = callersOf.get(frame.node);
    if (callers === undefined) {
      callers = tables.callers(view, frame.node);
      callersOf.set(frame.node, callers);
    }
    const within = key - frame.address;
    if (within < frame.bytes) {
      const { codeStart } = module.bodies[frame.defined];
      const offset = codeStart - module.codePayloadStart + within - FRAME_HEADER_BYTES;
      places.set(key, { kind: "code", path: [offset, ...callers] });
      continue;
    }
    const path = [tables.callAt(frame, within - frame.bytes), ...callers];
    const asking = path.findIndex((offset) => !isInWrapper(offset));
    places.set(key, { kind: "code", path: path.slice(Math.max(0, asking)) });
  }
  return places;
}
