// What whole loops do to bytes with ids of 16 bits: accesses of `size` bytes from `first` on, `stride` apart, `trips` of them.
import { countFresh, loadRecord } from "../brief";
import { idOfKey } from "../chosen-ids/ids";
import { L_FRESH } from "../layout";
import { areRead, bump, idAt, isInvalid, isReal, READ, readFew, setRange } from "./bytes";
import { readsOf } from "./reads";

/** For loads behind which no store comes at the same places. */
export const NO_STORE: u32 = READ;

@inline function magnitude(stride: i32): u32 { return <u32>(stride < 0 ? -stride : stride); }

export function storeStream(first: u32, stride: i32, size: u32, trips: u32, key: u32): void {
  const id = idOfKey(key);
  if (magnitude(stride) == size) setRange(stride < 0 ? first - size * (trips - 1) : first, size * trips, id);
  else if (size == 1) storeSparse<u8>(first, stride, trips, id);
  else if (size == 2) storeSparse<u16>(first, stride, trips, id);
  else if (size == 4) storeSparse<u32>(first, stride, trips, id);
  else if (size == 8) storeSparse<u64>(first, stride, trips, id);
  else storeSparse<v128>(first, stride, trips, id);
}

/**
 * `left`: the id that its bytes have then, that of read bytes or of a store right behind. Returns whether all have it for sure: what is
 * invalid stays so.
 */
export function loadStream(first: u32, stride: i32, size: u32, trips: u32, number: u32, left: u32): bool {
  if (size < WIDE && magnitude(stride) == size) {
    const low = stride < 0 ? first - size * (trips - 1) : first;
    return loadDense(low, low + size * trips, size, number, left);
  }
  if (size == 1) return loadSparse<u8>(first, stride, trips, number, left);
  if (size == 2) return loadSparse<u16>(first, stride, trips, number, left);
  if (size == 4 && left == READ && trips <= FEW) return loadWords(first, stride, trips, number);
  if (size == 4) return loadSparse<u32>(first, stride, trips, number, left);
  if (size == 8) return loadSparse<u64>(first, stride, trips, number, left);
  return loadSparse<v128>(first, stride, trips, number, left);
}

/** Bytes whose ids fill a vector. */
const WIDE: u32 = 8;
/** In so few trips, what is not foreseen costs more than what is done in vain. */
const FEW: u32 = 64;

// Shadow of `size` bytes, a constant, where all have one id: `ids` is that id as often as it has room.
@inline function repeated(id: u32): u64 {
  return <u64>id * 0x0001000100010001;
}

// Of one type per size, so that sizes are constants: the optimiser merges what differs in a parameter.
@inline function hold<T>(at: usize, ids: u64): bool { return differing<T>(at, ids) == 0; }

@inline function differing<T>(at: usize, ids: u64): u64 {
  const bytes = <u32>sizeof<T>() << 1;
  if (bytes == 2) return <u64>(load<u16>(at) ^ <u16>ids);
  if (bytes == 4) return <u64>(load<u32>(at) ^ <u32>ids);
  if (bytes == 8) return load<u64>(at) ^ ids;
  // Words of 64 bits take fewer instructions than vectors: engines make a number of any_true before they branch.
  let other = (load<u64>(at) ^ ids) | (load<u64>(at, 8) ^ ids);
  if (bytes == 32) other |= (load<u64>(at, 16) ^ ids) | (load<u64>(at, 24) ^ ids);
  return other;
}

/** The same of four accesses. */
@inline function allHold<T>(address: u32, stride: i32, ids: u64): bool {
  const low = differing<T>(address << 1, ids) | differing<T>((address + stride) << 1, ids);
  const next = address + stride + stride;
  return (low | differing<T>(next << 1, ids) | differing<T>((next + stride) << 1, ids)) == 0;
}

export function sparseIsRead<T>(address: u32, stride: i32, trips: u32): bool {
  for (; trips >= 4; trips -= 4) {
    if (!allHold<T>(address, stride, -1)) return false;
    address += stride << 2;
  }
  for (; trips != 0; trips--) {
    if (!hold<T>(address << 1, -1)) return false;
    address += stride;
  }
  return true;
}

@inline function put<T>(at: usize, ids: u64): void {
  const bytes = <u32>sizeof<T>() << 1;
  if (bytes == 2) store<u16>(at, <u16>ids);
  else if (bytes == 4) store<u32>(at, <u32>ids);
  else if (bytes == 8) store<u64>(at, ids);
  else {
    const all = i64x2.splat(ids);
    v128.store(at, all);
    if (bytes == 32) v128.store(at, all, 16);
  }
}

/** Bytes of the shadow that are looked at together. */
const LINE: u32 = 64;

/** From `address` on as far as whole lines of the shadow before `end` hold `ids`: they get `leave`. Returns where it ended. */
function passFilled(address: u32, end: u32, ids: u64, leave: u64): u32 {
  const all = i64x2.splat(ids);
  const next = i64x2.splat(leave);
  let at: usize = address << 1;
  const last: usize = end << 1;
  for (; at < last; at += LINE) {
    const low = v128.or(v128.xor(v128.load(at), all), v128.xor(v128.load(at, 16), all));
    const high = v128.or(v128.xor(v128.load(at, 32), all), v128.xor(v128.load(at, 48), all));
    if (v128.any_true(v128.or(low, high))) break;
    if (ids == leave) continue;
    v128.store(at, next);
    v128.store(at, next, 16);
    v128.store(at, next, 32);
    v128.store(at, next, 48);
  }
  return at >>> 1;
}

function storeSparse<T>(address: u32, stride: i32, trips: u32, id: u32): void {
  const ids = repeated(id);
  for (; trips != 0; trips--) {
    put<T>(address << 1, ids);
    address += stride;
  }
}

/** A few loads of four bytes, without a branch for each: how far one store wrote, or how far they were read, is not foreseen. */
function loadWords(address: u32, stride: i32, trips: u32, number: u32): bool {
  let fresh: u32 = 0;
  let isWhole = true;
  for (; trips != 0; trips--) {
    const at: usize = address << 1;
    const ids = load<u64>(at);
    const id = <u32>ids & 0xffff;
    fresh += <u32>(ids != -1);
    if (ids == rotl(ids, 16)) {
      bump(readsOf(id), 4);
      if (isInvalid(id)) isWhole = false;
      else store<u64>(at, -1);
    } else {
      readFew(address, 4);
      isWhole = false;
    }
    address += stride;
  }
  bump(loadRecord(number) + L_FRESH, fresh);
  return isWhole;
}

function loadSparse<T>(address: u32, stride: i32, trips: u32, number: u32, left: u32): bool {
  const leave = repeated(left);
  const size: u32 = sizeof<T>();
  let fresh: u32 = 0;
  let isWhole = true;
  while (trips != 0) {
    const id = idAt(address);
    const ids = repeated(id);
    if (isInvalid(id) || !hold<T>(address << 1, ids)) {
      fresh++;
      readFew(address, size);
      if (isWhole) isWhole = hold<T>(address << 1, repeated(READ));
      if (left != READ) put<T>(address << 1, leave);
      address += stride;
      trips--;
      continue;
    }
    // As far as it goes on like this; what is there already need not be written.
    let run: u32 = 0;
    if (size >= WIDE && stride == <i32>size) {
      const step = LINE >>> 1;
      const low = address;
      const end = address + trips / (step / size) * step;
      address = passFilled(address, end, ids, leave);
      run = (address - low) / size;
    }
    if (sizeof<T>() == 8 && ids == leave) while (run + 4 <= trips && allHold<T>(address, stride, ids)) {
      address += stride << 2;
      run += 4;
    }
    if (ids == leave) while (run != trips && hold<T>(address << 1, ids)) {
      address += stride;
      run++;
    } else while (run != trips && hold<T>(address << 1, ids)) {
      put<T>(address << 1, leave);
      address += stride;
      run++;
    }
    trips -= run;
    if (id == READ) continue;
    fresh += run;
    if (isReal(id)) bump(readsOf(id), run * size);
  }
  bump(loadRecord(number) + L_FRESH, fresh);
  return isWhole;
}

/** Loads of `size` bytes side by side, several to a vector. */
function loadDense(low: u32, high: u32, size: u32, number: u32, left: u32): bool {
  const step = WIDE;
  const leave = i64x2.splat(repeated(left));
  let address = low;
  let isWhole = true;
  while (address < high) {
    const id = idAt(address);
    const from = address;
    if (!isInvalid(id)) {
      // As far as one store wrote it, or as it was read.
      const ids = repeated(id);
      const all = i64x2.splat(ids);
      const lines = (high - address) & ~((LINE >>> 1) - 1);
      address = passFilled(address, address + lines, ids, repeated(left));
      while (high - address >= step && !v128.any_true(v128.xor(v128.load(address << 1), all))) {
        v128.store(address << 1, leave);
        address += step;
      }
    }
    if (address == from) {
      if (!areRead(address, size)) {
        countFresh(number);
        readFew(address, size);
        if (isWhole) isWhole = areRead(address, size);
      }
      if (left != READ) setRange(address, size, left);
      address += size;
    } else if (id != READ) {
      if (isReal(id)) bump(readsOf(id), address - from);
      bump(loadRecord(number) + L_FRESH, (address - from) / size);
    }
  }
  return isWhole;
}
