// Floats that are nearly equal, as the page on waste defines it: within a hundredth of the older value.
import { CONTROL, SEEN, programLoad8 } from "../imports";
import { Control } from "../layout.generated";
import { INVALID, stateOf, wordAt } from "./state";

function isNear(before: f64, after: f64): bool {
  if (isNaN(before) || isNaN(after)) return false;
  if (abs(before) === Infinity || abs(after) === Infinity) return false;
  if (before === 0 || after === 0) return before === after;
  return abs(after - before) <= 0.01 * abs(before);
}

function floatOf(bits: u64, size: u32): f64 {
  return size === 4 ? <f64>reinterpret<f32>(<u32>bits) : reinterpret<f64>(bits);
}

function programBits(address: u32, size: u32): u64 {
  let bits: u64 = 0;
  for (let i: u32 = size; i !== 0; i--) bits = (bits << 8) | programLoad8(address + i - 1);
  return bits;
}

function bitsAt(at: usize, size: u32): u64 {
  return size === 4 ? <u64>load<u32>(at) : load<u64>(at);
}

/** Whether each float of `float` bytes in the operand is exactly or nearly what `before` holds. */
function areNear(before: usize, address: u32, size: u32, float: u32): bool {
  for (let i: u32 = 0; i < size; i += float) {
    const was = bitsAt(before + i, float);
    const is = programBits(address + i, float);
    if (was !== is && !isNear(floatOf(was, float), floatOf(is, float))) return false;
  }
  return true;
}

/**
 * How many of the floats in an operand that was stored are exactly or nearly what `storing` kept. Those that lie in memory
 * which was invalid are none.
 */
export function lanesNear(address: u32, size: u32, float: u32): u32 {
  let lanes: u32 = 0;
  for (let i: u32 = 0; i < size; i += float) {
    let isValid = true;
    for (let j: u32 = 0; j < float; j++) if (stateOf(wordAt(address + i + j)) === INVALID) isValid = false;
    if (isValid && areNear(CONTROL + Control.scratch + i, address + i, float, float)) lanes++;
  }
  return lanes;
}

/** Whether the loaded floats are what the loads before saw, or nearly so. */
export function seenIsNear(address: u32, size: u32, float: u32): bool {
  return areNear(SEEN + address, address, size, float);
}

/** Whether the stored floats are what `storing` kept, or nearly so. */
export function keptIsNear(address: u32, size: u32, float: u32): bool {
  return areNear(CONTROL + Control.scratch, address, size, float);
}
