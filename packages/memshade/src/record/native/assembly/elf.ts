// Reads the ELF header and the program headers of a loaded object.
import { Header, MOST_BUILD_ID_BYTES, Module, Place, REWRITTEN_HEADER } from "./layout.generated";
import { processAddress } from "./lock";
import { getauxval, load32, load64, load8, syscall2 } from "./machine";
import { storeSum } from "./sum";
import { GETCWD } from "./system-calls";

const ELF_MAGIC: u32 = 0x464c_457f;
const PROGRAM_HEADERS_AT = 32;
const PROGRAM_HEADER_COUNT = 56;
const PROGRAM_HEADER_BYTES = 56;
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PF_W: u32 = 2;
const NT_GNU_BUILD_ID: u32 = 3;
const GNU: u32 = 0x0055_4e47;
const SLASH: u32 = 47;
const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const PAGE_BYTES: u64 = 4096;

@inline
function padded(bytes: u32): u64 {
  return (<u64>bytes + 3) & ~3;
}

/** Address in the object, and bytes in the file, of a program header. */
@inline
function addressOf(header: u64): u64 {
  return load64(header + 16);
}
@inline
function bytesOf(header: u64): u64 {
  return load64(header + 32);
}

/** Address of the module's program headers, and their end. */
let headers: u64 = 0;
let headersEnd: u64 = 0;

/**
 * Finds the program headers: the program's by the auxiliary vector, others by the file header. Returns false
 * if there are none.
 */
function findHeaders(module: usize): bool {
  const start = load<u64>(module, Module.start);
  let count: u64;
  if (load<u32>(module, Module.nameBytes) === 0) {
    headers = getauxval(AT_PHDR);
    count = getauxval(AT_PHNUM);
  } else {
    if (load32(start) !== ELF_MAGIC) return false;
    headers = start + load64(start + PROGRAM_HEADERS_AT);
    count = load32(start + PROGRAM_HEADER_COUNT) & 0xffff;
  }
  headersEnd = headers + PROGRAM_HEADER_BYTES * count;
  return headers !== 0;
}

/**
 * Stores a module's address range, and the key of its tables: the build id, or a sum of its content where it
 * has none. Call `keepName` before.
 */
export function identify(module: usize): void {
  if (!findHeaders(module)) return;
  const bias = load<u64>(module, Module.bias);
  let frames: u64 = 0;
  let hasBuildId: u32 = 0;
  for (let header = headers; header < headersEnd; header += PROGRAM_HEADER_BYTES) {
    const type = load32(header);
    const at = bias + addressOf(header);
    if (type === PT_LOAD) spread(module, at, at + load64(header + 40));
    else if (type === PT_NOTE && hasBuildId === 0)
      hasBuildId = copyFromNotes(module, at, at + load64(header + 40)) ? 1 : 0;
    else if (type === PT_GNU_EH_FRAME) frames = addressOf(header);
    else if (type === REWRITTEN_HEADER) store<u64>(module, addressOf(header), Module.mark);
  }
  if (hasBuildId !== 0 || frames === 0) return;
  for (let header = headers; header < headersEnd; header += PROGRAM_HEADER_BYTES)
    if (load32(header) === PT_LOAD && frames - addressOf(header) < bytesOf(header)) {
      if ((load32(header + 4) & PF_W) === 0)
        storeSum(module + Module.buildId, bias + addressOf(header), bytesOf(header));
      return;
    }
}

/**
 * Extends the module by a segment. With gaps between the segments, the dynamic linker reports each of the
 * program's segments as a range of its own.
 */
function spread(module: usize, start: u64, end: u64): void {
  const page = start & ~(PAGE_BYTES - 1);
  if (page < load<u64>(module, Module.start)) store<u64>(module, page, Module.start);
  if (end > load<u64>(module, Module.end)) store<u64>(module, end, Module.end);
}

function copyFromNotes(module: usize, notes: u64, end: u64): bool {
  for (let note = notes; note + 16 <= end; ) {
    const nameBytes = load32(note);
    const bytes = load32(note + 4);
    const text = note + 12 + padded(nameBytes);
    if (load32(note + 8) === NT_GNU_BUILD_ID && nameBytes === 4 && load32(note + 12) === GNU) {
      const copied = min(bytes, MOST_BUILD_ID_BYTES);
      for (let i: u32 = 0; i < copied; i++) store<u8>(module + i, <u8>load8(text + i), Module.buildId);
      store<u32>(module, copied, Module.buildIdBytes);
      return true;
    }
    note = text + padded(bytes);
  }
  return false;
}

/**
 * Stores the name of a module, with a zero at its end. A relative name is taken from the process's current
 * folder, which is most likely the one where the object was loaded.
 */
export function keepName(module: usize, name: u64): void {
  const start: usize = Place.names + load<u32>(Header.names);
  let to = start;
  if (isRelative(name)) {
    const room = processAddress(start);
    const bytes = syscall2(GETCWD, room, Place.namesEnd - start);
    if (bytes > 0 && load8(room) === SLASH) {
      to += <usize>bytes - 1;
      if (to + 1 < Place.namesEnd) store<u8>(to++, <u8>SLASH);
    }
  }
  for (let at = name; to < Place.namesEnd; at++) {
    const byte = load8(at);
    if (byte === 0) break;
    store<u8>(to++, <u8>byte);
  }
  store<u32>(module, start, Module.name);
  store<u32>(module, <u32>(to - start), Module.nameBytes);
  store<u32>(Header.names, <u32>(to - Place.names));
}

/**
 * Returns true for relative paths. A name without a slash is no path: the kernel's object, or the empty name
 * of the program.
 */
function isRelative(name: u64): bool {
  if (load8(name) === SLASH) return false;
  for (let at = name; load8(at) !== 0; at++) if (load8(at) === SLASH) return true;
  return false;
}
