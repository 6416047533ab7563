import type { AllocatorMemory, ProcessMemory } from "../../../profile/model/run.ts";
import { AllocatorWord, Header } from "../layout.ts";

const KIB = 1024;
const WORD_BYTES = 8;

/**
 * What a process had of memory, by what the kernel said last, and by what its allocator said in the header of its memory when it exited. Undefined: the kernel
 * was not asked in time. What it shares with others is left out, as the tables are that it was recorded in.
 */
export function processMemory(view: DataView, status = ""): ProcessMemory | undefined {
  const bytes = (field: string): number | undefined => {
    const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status) ?? [];
    return kib === undefined ? undefined : Number(kib) * KIB;
  };
  const [resident, peak, shared] = [bytes("VmRSS"), bytes("VmHWM"), bytes("RssShmem") ?? 0];
  if (resident === undefined || peak === undefined) return undefined;
  // Shared memory only grows, so at the peak there was no more of it than there is.
  const residentBytes = Math.max(0, resident - shared);
  const allocator = allocatorMemory(view);
  return {
    residentBytes,
    peakBytes: Math.max(residentBytes, peak - shared),
    ...(allocator === undefined ? {} : { allocator }),
  };
}

function allocatorMemory(view: DataView): AllocatorMemory | undefined {
  if (view.getUint32(Header.isAllocatorAsked, true) === 0) return undefined;
  const word = (index: number): number =>
    Number(view.getBigUint64(Header.allocator + WORD_BYTES * index, true));
  return {
    heldBytes: word(AllocatorWord.arenas) + word(AllocatorWord.ranges),
    freeBytes: word(AllocatorWord.free),
    topBytes: word(AllocatorWord.top),
  };
}
