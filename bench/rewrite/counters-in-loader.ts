import { COUNTERS_BITS, COUNTERS as SHADOW } from "../../packages/memshade/src/native/layout.ts";
import { openObject } from "../../packages/memshade/src/objects/index.ts";
import { Assembler, R8, R9, R10, RAX, RDI, RDX, RSI } from "../../packages/memshade/src/x64/index.ts";
import { int32 } from "../../packages/memshade/src/x64/operands.ts";

const SHADOW_BYTES = 2 ** COUNTERS_BITS;
const PAGE = 4096;
const PF_X = 1;
/** Field of the file header: where a process begins. */
const E_ENTRY = 24;
const JUMP = 0xe9;
const MMAP = 9;
const READ_WRITE = 3;
/** private, anonymous, no memory reserved, at that address or not at all */
const FLAGS = 0x2 | 0x20 | 0x4000 | 0x100000;

/**
 * The dynamic linker with code in front of its first instruction that maps the counters, before any code runs that counts. The code
 * lies between the end of a segment and that of its last page, which is mapped anyway; only the entry in the header leads to it.
 */
export function loaderWithCounters(file: Uint8Array): Uint8Array {
  const { segments } = openObject(file);
  const bytes = file.slice();
  const view = new DataView(bytes.buffer);
  const entry = Number(view.getBigUint64(E_ENTRY, true));
  const code = segments.find(({ flags }) => (flags & PF_X) !== 0);
  if (code === undefined) throw new Error("the dynamic linker has no code");
  const end = code.fileOffset + code.fileSize;
  const mapping = mapCounters();
  const stub = code.address + code.fileSize;
  const text = [...mapping, JUMP, ...int32(entry - (stub + mapping.length + 5))];
  const next = segments.find(({ fileOffset }) => fileOffset >= end)?.fileOffset ?? 0;
  if (text.length > Math.min(next, Math.ceil(end / PAGE) * PAGE) - end)
    throw new Error("the dynamic linker has no room behind its code");
  bytes.set(text, end);
  view.setBigUint64(E_ENTRY, BigInt(stub), true);
  return bytes;
}

/** Maps the counters, or ends the process with SIGILL. The kernel leaves nothing in registers but the stack pointer. */
function mapCounters(): Uint8Array {
  const asm = new Assembler();
  const done = asm.label();
  asm.put("mov", 4, RAX, MMAP);
  asm.put("mov", 4, RDI, SHADOW);
  asm.put("movabs", 8, RSI, BigInt(SHADOW_BYTES));
  asm.put("mov", 4, RDX, READ_WRITE);
  asm.put("mov", 4, R10, FLAGS);
  asm.put("mov", 8, R8, -1);
  asm.put("xor", 4, R9, R9);
  asm.put("syscall", 4);
  asm.put("xor", 4, RDX, RDX);
  asm.put("cmp", 8, RAX, SHADOW);
  asm.jump(done, "e");
  asm.put("ud2", 4);
  asm.bind(done);
  const { bytes, offsetOf } = asm.finish();
  return bytes.subarray(0, offsetOf(done));
}
