// Walks over the records of perf.data, sorts them by time, and decodes the samples.
import { heldBytes, hold, pieceAddress, release, takePiece } from "./memory";
import { add, finish, finishRound, isReady, takeOldest } from "./order";
import { timeOfRecord, timeOfSample } from "./sample";

export { allocate, SAMPLE } from "./memory";
export { beginEvents, decode, events, ids, setPlaces } from "./sample";
export { finish, heldBytes, pieceAddress, takePiece };

const TYPE_SAMPLE: u32 = 9;
/** First record type that perf writes itself. The kernel did not write such a record, so no sample id follows it. */
const FIRST_USER: u32 = 64;
const FINISHED_ROUND: u32 = 68;
const HEADER_BYTES: u32 = 8;

export let piece: u32 = 0;
export let position: u32 = 0;
export let end: u32 = 0;

/** Begins with a piece; its memory stays unchanged until `leave`. */
export function enter(entered: u32, from: u32, to: u32): void {
  resume(entered, from, to);
  hold(entered);
}

/** Continues with a piece after another piece was entered. */
export function resume(entered: u32, from: u32, to: u32): void {
  piece = entered;
  position = from;
  end = to;
}

export function leave(entered: u32): void {
  release(entered);
  position = 0;
  end = 0;
}

/**
 * Returns the next record in the order of time. A record of perf's own is returned as soon as it is reached. The memory
 * may be reused at the next call.
 *
 * @returns its address; 0 if the piece has no further whole record, or the next one is damaged
 */
export function next(): u32 {
  while (true) {
    if (isReady()) return takeOldest();
    const record = position;
    if (record + HEADER_BYTES > end) return 0;
    const type = load<u32>(record);
    const size = <u32>load<u16>(record, 6);
    if (size < HEADER_BYTES || record + size > end) return 0;
    position = record + size;
    let time: u32;
    if (type === TYPE_SAMPLE) time = timeOfSample(record, size);
    else if (type < FIRST_USER) time = timeOfRecord(record, size);
    else if (type === FINISHED_ROUND) {
      finishRound();
      continue;
    } else return record;
    if (time === 0) return record;
    add(load<u64>(time), record, piece);
  }
}
