import { UserError } from "../../../ground/bytes/errors.ts";
import { KIB, MIB, roundUp, WASM_PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { groupDigits } from "../../../profile/model/counted.ts";
import type { HostStacks } from "../heap-options.ts";
import type { ShadowLayout } from "../options.ts";
import { constantsOf } from "../table-layout.ts";
import {
  CONTROL_BYTES,
  HOST_ENTRIES_BYTES,
  MOST_STACK_TAKES,
  RECORD_BYTES,
  REGION_BITS,
  STACK_TAKE_BYTES,
  STACK_TAKES_HEAD_BYTES,
} from "./layout.ts";
import { placeTables } from "./place-tables.ts";

const LARGEST_MEMORY_BYTES = 4096 * MIB;
const REGION_BYTES = 2 ** REGION_BITS;
const DIRECTORY_ENTRY_BYTES = 4;
const COUNTERS_PER_BYTE = 1 / 2;
const SLOTS_PER_BYTE = 1 / 2;
const MARKS_PER_BYTE = 1 / 64;
/** Most bytes of slots: enough for all regions up to 2 GiB of program memory, for half of them at 4 GiB. */
const MOST_SLOT_BYTES = 1024 * MIB;
/** Eight bytes per frame: more frames than any engine's own stack holds. */
const STACK_BYTES = 64 * MIB;
/**
 * Bytes of each instance's stack if several share the memory: as many frames as the largest default stacks of
 * threads hold.
 */
const THREAD_STACK_BYTES = 4 * MIB;
const THREAD_STACKS = 64;
/**
 * Bytes below the stack: the host word at their start, the root's frame at their end. The host word is the
 * height of the stack at the last call from the module to the host that has not returned. An entry of the
 * host continues from there.
 */
const STACK_BASE_BYTES = 64;
const STACK_TAKES_BYTES = STACK_TAKES_HEAD_BYTES + MOST_STACK_TAKES * STACK_TAKE_BYTES;
const HISTOGRAM_BYTES = 256 * MIB;
const DEFAULT_CONTEXTS = 64 * KIB;
const DEFAULT_BLOCKS = 4 * MIB;
const MOST_CONTEXTS = 512 * KIB;
const MOST_BLOCKS = 16 * MIB;

export interface LayoutWishes {
  /** Largest size that the program's memory can reach, bytes. */
  memoryBytes: number;
  maxContexts: number | undefined;
  maxBlocks: number | undefined;
  histograms: boolean;
  shared?: boolean;
  asksHost?: boolean;
  /** The program's stack, if the host can take bytes of it. */
  movableStack?: { readonly start: number; readonly end: number } | undefined;
}

function checkedCapacity(entries: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new UserError(`the number of ${entries} to keep must be between 1 and ${groupDigits(most)}`);
}

/**
 * Places the tables. Counters take half of the covered memory, and slots at most a GiB. So even a program
 * with 4 GiB leaves room for the other tables. Pages that are never touched cost address space only.
 */
export function planLayout(wishes: LayoutWishes): ShadowLayout {
  const coveredBytes = Math.min(LARGEST_MEMORY_BYTES, roundUp(wishes.memoryBytes, WASM_PAGE_BYTES));
  const contexts =
    checkedCapacity("calling contexts", wishes.maxContexts ?? DEFAULT_CONTEXTS, MOST_CONTEXTS) + 1;
  const slots = coveredBytes * COUNTERS_PER_BYTE;
  const slotsEnd = slots + Math.min(MOST_SLOT_BYTES, coveredBytes * SLOTS_PER_BYTE);
  const marks = slotsEnd;
  const directory = marks + coveredBytes * MARKS_PER_BYTE;
  const control = roundUp(directory + (coveredBytes / REGION_BYTES) * DIRECTORY_ENTRY_BYTES, CONTROL_BYTES);
  const hostEntries = wishes.asksHost === true ? control + CONTROL_BYTES : undefined;
  const hostEnd = control + CONTROL_BYTES + (hostEntries === undefined ? 0 : HOST_ENTRIES_BYTES);
  const { movableStack } = wishes;
  const shapes = roundUp(hostEnd + (movableStack === undefined ? 0 : STACK_TAKES_BYTES), CONTROL_BYTES);
  const { tablesEnd, ...tables } = placeTables(shapes, contexts);
  const records = roundUp(tablesEnd, RECORD_BYTES);
  const histogramBytes = wishes.histograms ? HISTOGRAM_BYTES : 0;
  const shared = wishes.shared === true;
  const stackBytes = shared ? THREAD_STACK_BYTES * THREAD_STACKS : STACK_BYTES;
  const room = LARGEST_MEMORY_BYTES - 3 * WASM_PAGE_BYTES - records - stackBytes - histogramBytes;
  const recordCapacity = Math.min(
    checkedCapacity("live blocks", wishes.maxBlocks ?? DEFAULT_BLOCKS, MOST_BLOCKS) + 1,
    Math.floor(room / RECORD_BYTES),
  );
  const histograms = roundUp(records + recordCapacity * RECORD_BYTES, WASM_PAGE_BYTES);
  const hostWord = roundUp(histograms + histogramBytes, WASM_PAGE_BYTES);
  const stack = hostWord + STACK_BASE_BYTES;
  return {
    coveredBytes,
    slots,
    slotsEnd,
    marks,
    directory,
    control,
    ...(hostEntries === undefined ? {} : { hostEntries }),
    ...(movableStack === undefined
      ? {}
      : { stackTakes: { at: hostEnd, start: movableStack.start, end: movableStack.end } }),
    ...tables,
    records,
    recordCapacity,
    histograms: wishes.histograms ? histograms : 0,
    histogramsEnd: wishes.histograms ? histograms + histogramBytes : 0,
    hostWord,
    stack,
    stackCount: shared ? THREAD_STACKS : 1,
    stackDistance: shared ? THREAD_STACK_BYTES : 0,
    endBytes: roundUp(hostWord + stackBytes, WASM_PAGE_BYTES),
  };
}

/**
 * Returns the bytes of tables per byte of program memory in use. Counters are touched only if accesses are
 * counted.
 */
export function heapBytesPerByte(counted: boolean): number {
  return (counted ? COUNTERS_PER_BYTE : 0) + SLOTS_PER_BYTE + MARKS_PER_BYTE;
}

export interface RuntimeKind {
  wallClock: boolean;
  exact: boolean;
  counted: boolean;
  hostStacks: HostStacks;
  statics: { readonly start: number; readonly dataEnd: number; readonly end: number } | undefined;
  memory64: boolean;
}

const HOST_STACKS: Readonly<Record<HostStacks, number>> = { off: 0, sampled: 1, exact: 2 };

export function runtimeConstants(
  layout: ShadowLayout,
  { wallClock, exact, counted, hostStacks, statics, memory64 }: RuntimeKind,
): Record<string, number> {
  return {
    ...constantsOf(layout),
    COVERED: layout.coveredBytes === LARGEST_MEMORY_BYTES ? 0xffffffff : layout.coveredBytes,
    COUNTED: counted ? 1 : 0,
    EXACT: exact ? 1 : 0,
    STATICS: statics?.start ?? 0,
    STATIC_BYTES: statics === undefined ? 0 : Math.min(statics.end, layout.coveredBytes) - statics.start,
    IMAGE: statics?.start ?? 0,
    IMAGE_BYTES: statics === undefined ? 0 : Math.min(statics.dataEnd, layout.coveredBytes) - statics.start,
    HEADER_BYTES: memory64 ? 8 : 4,
    HOST_STACKS: HOST_STACKS[hostStacks],
    HOST_ENTRIES: layout.hostEntries ?? 0,
    PROGRAM_STACK_START: layout.stackTakes?.start ?? 0,
    PROGRAM_STACK_END: layout.stackTakes?.end ?? 0,
    STACK_TAKES: layout.stackTakes?.at ?? 0,
    WALL_CLOCK: wallClock ? 1 : 0,
    SHARED: layout.stackCount > 1 ? 1 : 0,
    FIRST_STACK: layout.stack,
    INSTANCE: 0,
  };
}
