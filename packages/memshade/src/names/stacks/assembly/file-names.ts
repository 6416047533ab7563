// Files that mappings name, each with a number from the JavaScript side. The table serves names that occur
// thousands of times.
//
//   names   open addressing: {0 u32 1 if used; 4 u32 hash; 8 u32 address of the key; 12 u32 its bytes; 16 u32 result}
//   key     the name, a NUL, and the build id, with the length that the record gives

declare module "records";
declare function allocate(bytes: u32): u32;

declare module "host";
/** Returns the number of a file << 1, + 1 if the name is for memory without a file. */
declare function nameFile(name: u32, nameBytes: u32, buildId: u32, buildIdBytes: u32): u32;

const NAME_BYTES: u32 = 20;
const FEWEST: u32 = 256;
/** PERF_RECORD_MISC_MMAP_BUILD_ID */
const HAS_BUILD_ID: u32 = 1 << 14;
const MOST_BUILD_ID_BYTES: u32 = 20;

let names: u32 = 0;
let mask: u32 = 0;
let count: u32 = 0;

function begin(capacity: u32): void {
  names = allocate(capacity * NAME_BYTES);
  memory.fill(names, 0, capacity * NAME_BYTES);
  mask = capacity - 1;
}

export function forgetNames(): void {
  if (names !== 0) memory.fill(names, 0, (mask + 1) * NAME_BYTES);
  count = 0;
}

function hashOf(at: u32, bytes: u32, seed: u32): u32 {
  let hash = seed;
  for (let index: u32 = 0; index < bytes; index++) hash = (hash ^ <u32>load<u8>(at + index)) * 0x0100_0193;
  return hash;
}

function grow(): void {
  const old = names;
  const oldMask = mask;
  begin(2 * (oldMask + 1));
  for (let slot: u32 = 0; slot <= oldMask; slot++) {
    const at = old + slot * NAME_BYTES;
    if (load<u32>(at) === 0) continue;
    let free = load<u32>(at, 4) & mask;
    while (load<u32>(names + free * NAME_BYTES) !== 0) free = (free + 1) & mask;
    memory.copy(names + free * NAME_BYTES, at, NAME_BYTES);
  }
}

/** Returns the file of a mapping record: its number << 1, + 1 if the name is for memory without a file. */
export function mappedFile(record: u32, nameOffset: u32): u32 {
  const name = record + nameOffset;
  const limit = record + <u32>load<u16>(record, 6);
  let end = name;
  while (end < limit && load<u8>(end) !== 0) end++;
  const nameBytes = end - name;
  const hasBuildId = nameOffset === 72 && (<u32>load<u16>(record, 4) & HAS_BUILD_ID) !== 0;
  const buildId = record + 44;
  const buildIdBytes = hasBuildId ? min(<u32>load<u8>(record, 40), MOST_BUILD_ID_BYTES) : 0;
  const keyBytes = nameBytes + 1 + buildIdBytes;
  if (names === 0) begin(FEWEST);
  const hash = hashOf(buildId, buildIdBytes, hashOf(name, nameBytes, 0x811c_9dc5));
  let slot = hash & mask;
  for (; ; slot = (slot + 1) & mask) {
    const at = names + slot * NAME_BYTES;
    if (load<u32>(at) === 0) break;
    if (load<u32>(at, 4) !== hash || load<u32>(at, 12) !== keyBytes) continue;
    const key = load<u32>(at, 8);
    if (
      load<u8>(key + nameBytes) === 0 &&
      memory.compare(key, name, nameBytes) === 0 &&
      memory.compare(key + nameBytes + 1, buildId, buildIdBytes) === 0
    )
      return load<u32>(at, 16);
  }
  const key = allocate(keyBytes);
  memory.copy(key, name, nameBytes);
  store<u8>(key + nameBytes, 0);
  memory.copy(key + nameBytes + 1, buildId, buildIdBytes);
  const answer = nameFile(key, nameBytes, key + nameBytes + 1, buildIdBytes);
  const at = names + slot * NAME_BYTES;
  store<u32>(at, 1);
  store<u32>(at, hash, 4);
  store<u32>(at, key, 8);
  store<u32>(at, keyBytes, 12);
  store<u32>(at, answer, 16);
  count++;
  if (count << 1 > mask) grow();
  return answer;
}
