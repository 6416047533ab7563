// The addresses of samples, as `perf script -F ip --no-inline` prints them: millions of lines.
import { writeHex } from "./hex";
import { PLACE_BYTES, PLACE_TEXT, places } from "./places";

@external("records", "allocate")
declare function allocate(bytes: u32): u32;
/** Writes text that will be overwritten. */
@external("host", "write")
declare function write(address: u32, bytes: u32): void;

const BATCH_BYTES: u32 = 1 << 17;
/** A tab, 16 digits and the end of the line. */
const LINE_BYTES: u32 = 18;
const TAB: u8 = 9;
const NEWLINE: u8 = 10;

let batch: u32 = 0;
let length: u32 = 0;

export function finishText(): void {
  if (length > 0) write(batch, length);
  length = 0;
}

/** Adds one sample. */
export function addAddresses(kernel: u32, kernelCount: u32, frames: u32, frameCount: u32): void {
  if (batch === 0) batch = allocate(BATCH_BYTES);
  addByte(NEWLINE);
  for (let index: u32 = 0; index < kernelCount; index++) {
    const at = beginLine();
    writeHex(at + 1, load<u64>(kernel + (index << 3)));
  }
  for (let index: u32 = 0; index < frameCount; index++) {
    const text = places + load<u32>(frames + (index << 2)) * PLACE_BYTES + PLACE_TEXT;
    const at = beginLine();
    store<u64>(at + 1, load<u64>(text));
    store<u64>(at + 9, load<u64>(text, 8));
  }
  addByte(NEWLINE);
}

function addByte(byte: u8): void {
  if (length === BATCH_BYTES) finishText();
  store<u8>(batch + length++, byte);
}

@inline
function beginLine(): u32 {
  if (length + LINE_BYTES > BATCH_BYTES) finishText();
  const at = batch + length;
  store<u8>(at, TAB);
  store<u8>(at, NEWLINE, 17);
  length += LINE_BYTES;
  return at;
}
