// Decodes samples. Layout of the last decoded sample and of the tables:
//
//   SAMPLE   0 u32 address; 4 u32 size; 8 u32 event; 12 i32 process; 16 i32 thread; 20 u32 present fields (HAS_*);
//            24 u64 time; 32 u64 period; 40 u64 ip; 48 u32 processor; 52 u32 ABI of the registers;
//            56 u32 address of the call chain; 60 u32 its length in words; 64 u32 address of the registers; 68 u32 their number;
//            72 u32 address of the stack; 76 u32 its valid bytes
//   events   {u32 sample type, u32 read format, u32 branch sample type, u32 number of user registers}
//   ids      {u64 id, u32 event, –}
import { allocate, SAMPLE } from "./memory";

const IP: u32 = 1;
const TID: u32 = 2;
const TIME: u32 = 4;
const ADDRESS: u32 = 8;
const READ: u32 = 0x10;
const CALL_CHAIN: u32 = 0x20;
const ID: u32 = 0x40;
const CPU: u32 = 0x80;
const PERIOD: u32 = 0x100;
const STREAM_ID: u32 = 0x200;
const RAW: u32 = 0x400;
const BRANCH_STACK: u32 = 0x800;
const USER_REGISTERS: u32 = 0x1000;
const USER_STACK: u32 = 0x2000;
const IDENTIFIER: u32 = 0x10000;

const READ_ENABLED: u32 = 1;
const READ_RUNNING: u32 = 2;
const READ_ID: u32 = 4;
const READ_GROUP: u32 = 8;
const READ_LOST: u32 = 16;
const BRANCH_HW_INDEX: u32 = 1 << 17;

const HAS_CPU: u32 = 1;
const HAS_CALL_CHAIN: u32 = 2;
const HAS_REGISTERS: u32 = 4;
const HAS_STACK: u32 = 8;

const EVENT_BYTES: u32 = 16;
const ID_BYTES: u32 = 16;
const HEADER_BYTES: u32 = 8;

export let events: u32 = 0;
export let ids: u32 = 0;
let eventCount: u32 = 0;
let idCount: u32 = 0;
let lastId: u32 = 0;
/** Offset of the id in samples, equal for all events. 0: absent. */
let idAt: u32 = 0;
/** Offset of the time in samples, equal in all samples of a file. 0: absent. */
let timeAt: u32 = 0;
/** Distance of the time from the end of other records. 0: absent. */
let timeFromEnd: u32 = 0;

export function beginEvents(count: u32, countOfIds: u32): void {
  eventCount = count;
  idCount = countOfIds;
  lastId = 0;
  events = allocate(count * EVENT_BYTES);
  ids = allocate(countOfIds * ID_BYTES);
}

export function setPlaces(id: u32, time: u32, fromEnd: u32): void {
  idAt = id;
  timeAt = time;
  timeFromEnd = fromEnd;
}

export function timeOfSample(record: u32, size: u32): u32 {
  return timeAt !== 0 && timeAt + 8 <= size ? record + timeAt : 0;
}

export function timeOfRecord(record: u32, size: u32): u32 {
  return timeFromEnd !== 0 && timeFromEnd + HEADER_BYTES <= size ? record + size - timeFromEnd : 0;
}

function eventOf(record: u32, size: u32): u32 {
  if (eventCount < 2 || idAt === 0 || idAt + 8 > size) return 0;
  const id = load<u64>(record + idAt);
  for (let tried: u32 = 0; tried < idCount; tried++) {
    if (load<u64>(ids + lastId * ID_BYTES) === id) return load<u32>(ids + lastId * ID_BYTES, 8);
    lastId = lastId + 1 < idCount ? lastId + 1 : 0;
  }
  return 0;
}

/** Returns the bytes of `count` items, or a number larger than any record if there are too many. */
@inline
function bytesOf(count: u64, each: u64): u32 {
  return count < 0x10000 ? <u32>(count * each) : 0x10_0000;
}

function readBytes(at: u32, format: u32): u32 {
  const perValue: u64 = 8 * (1 + u64((format & READ_ID) !== 0) + u64((format & READ_LOST) !== 0));
  const times: u32 = 8 * (u32((format & READ_ENABLED) !== 0) + u32((format & READ_RUNNING) !== 0));
  if ((format & READ_GROUP) === 0) return times + <u32>perValue;
  return 8 + times + bytesOf(load<u64>(at), perValue);
}

/**
 * Decodes the sample at an address into `SAMPLE`. @returns false if a field reaches beyond the record, or no event is
 * known
 */
export function decode(record: u32): bool {
  if (eventCount === 0) return false;
  const size = <u32>load<u16>(record, 6);
  const end = record + size;
  const event = eventOf(record, size);
  const description = events + event * EVENT_BYTES;
  const type = load<u32>(description);
  let at = record + HEADER_BYTES;
  let has: u32 = 0;
  store<u32>(SAMPLE, record);
  store<u32>(SAMPLE, size, 4);
  store<u32>(SAMPLE, event, 8);
  store<i64>(SAMPLE, -1, 12);
  store<u64>(SAMPLE, 0, 24);
  store<u64>(SAMPLE, 1, 32);
  store<u64>(SAMPLE, 0, 40);
  store<u64>(SAMPLE, 0, 48);
  // Fields of eight bytes, up to the first one of another size.
  if ((type & IDENTIFIER) !== 0) at += 8;
  if ((type & IP) !== 0) {
    if (at + 8 > end) return false;
    store<u64>(SAMPLE, load<u64>(at), 40);
    at += 8;
  }
  if ((type & TID) !== 0) {
    if (at + 8 > end) return false;
    store<u64>(SAMPLE, load<u64>(at), 12);
    at += 8;
  }
  if ((type & TIME) !== 0) {
    if (at + 8 > end) return false;
    store<u64>(SAMPLE, load<u64>(at), 24);
    at += 8;
  }
  if ((type & ADDRESS) !== 0) at += 8;
  if ((type & ID) !== 0) at += 8;
  if ((type & STREAM_ID) !== 0) at += 8;
  if ((type & CPU) !== 0) {
    if (at + 8 > end) return false;
    store<u32>(SAMPLE, load<u32>(at), 48);
    has |= HAS_CPU;
    at += 8;
  }
  if ((type & PERIOD) !== 0) {
    if (at + 8 > end) return false;
    store<u64>(SAMPLE, load<u64>(at), 32);
    at += 8;
  }
  if ((type & READ) !== 0) {
    if (at + 8 > end) return false;
    at += readBytes(at, load<u32>(description, 4));
  }
  if ((type & CALL_CHAIN) !== 0) {
    if (at + 8 > end) return false;
    const count = load<u64>(at);
    const bytes = bytesOf(count, 8);
    at += 8;
    if (at + bytes > end) return false;
    store<u32>(SAMPLE, at, 56);
    store<u32>(SAMPLE, <u32>count, 60);
    has |= HAS_CALL_CHAIN;
    at += bytes;
  }
  if ((type & RAW) !== 0) {
    if (at + 4 > end) return false;
    at += 4 + bytesOf(load<u32>(at), 1);
  }
  if ((type & BRANCH_STACK) !== 0) {
    if (at + 8 > end) return false;
    at += 8 + ((load<u32>(description, 8) & BRANCH_HW_INDEX) !== 0 ? 8 : 0) + bytesOf(load<u64>(at), 24);
  }
  if ((type & USER_REGISTERS) !== 0) {
    if (at + 8 > end) return false;
    const abi = load<u64>(at);
    store<u32>(SAMPLE, <u32>min<u64>(abi, u32.MAX_VALUE), 52);
    at += 8;
    if (abi !== 0) {
      const count = load<u32>(description, 12);
      if (at + 8 * count > end) return false;
      store<u32>(SAMPLE, at, 64);
      store<u32>(SAMPLE, count, 68);
      has |= HAS_REGISTERS;
      at += 8 * count;
    }
  }
  if ((type & USER_STACK) !== 0) {
    if (at + 8 > end) return false;
    const copied = load<u64>(at);
    const bytes = bytesOf(copied, 1);
    at += 8;
    if (copied !== 0 && at + bytes + 8 > end) return false;
    store<u32>(SAMPLE, at, 72);
    // The number of valid bytes follows the stack; it is absent if the stack is empty.
    store<u32>(SAMPLE, copied === 0 ? 0 : <u32>min<u64>(copied, load<u64>(at + bytes)), 76);
    has |= HAS_STACK;
  }
  store<u32>(SAMPLE, has, 20);
  return true;
}
