// What the file header of a loaded object says.
import { MOST_BUILD_ID_BYTES, MOST_NAME_BYTES, Module } from "./layout.generated";
import { load32, load64, load8 } from "./machine";

const ELF_MAGIC: u32 = 0x464c_457f;
const PROGRAM_HEADERS_AT = 32;
const PROGRAM_HEADER_COUNT = 56;
const PROGRAM_HEADER_BYTES = 56;
const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;
/** "GNU" and a zero. */
const GNU: u32 = 0x0055_4e47;

@inline
function padded(bytes: u32): u64 {
  return (<u64>bytes + 3) & ~3;
}

/** Copies the build id of a module's object, if it has one. */
export function copyBuildId(module: usize): void {
  const start = load<u64>(module, Module.start);
  if (load32(start) !== ELF_MAGIC) return;
  const headers = start + load64(start + PROGRAM_HEADERS_AT);
  const count = load32(start + PROGRAM_HEADER_COUNT) & 0xffff;
  for (let i: u32 = 0; i < count; i++) {
    const header = headers + i * PROGRAM_HEADER_BYTES;
    if (load32(header) !== PT_NOTE) continue;
    const notes = load<u64>(module, Module.bias) + load64(header + 16);
    if (copyFromNotes(module, notes, notes + load64(header + 40))) return;
  }
}

function copyFromNotes(module: usize, notes: u64, end: u64): bool {
  for (let note = notes; note + 16 <= end; ) {
    const nameBytes = load32(note);
    const bytes = load32(note + 4);
    const text = note + 12 + padded(nameBytes);
    if (load32(note + 8) === NT_GNU_BUILD_ID && nameBytes === 4 && load32(note + 12) === GNU) {
      const kept = min(bytes, MOST_BUILD_ID_BYTES);
      for (let i: u32 = 0; i < kept; i++) store<u8>(module + i, <u8>load8(text + i), Module.buildId);
      store<u32>(module, kept, Module.buildIdBytes);
      return true;
    }
    note = text + padded(bytes);
  }
  return false;
}

/** Copies a name that ends with a zero. */
export function copyName(module: usize, name: u64): void {
  let bytes: u32 = 0;
  for (; bytes < MOST_NAME_BYTES; bytes++) {
    const byte = load8(name + bytes);
    if (byte === 0) break;
    store<u8>(module + bytes, <u8>byte, Module.name);
  }
  store<u32>(module, bytes, Module.nameBytes);
}
