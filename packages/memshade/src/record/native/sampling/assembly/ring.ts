// Ring of bytes for samples on their way to the parent. All threads write to it without a lock, because a
// signal may come at any instruction.
import { Header, Place, Thread, THREAD_BYTES } from "../../assembly/layout.generated";
import { RING_BYTES, Sample, SamplePlace, Sampler, Sampling } from "./layout.generated";

/** Returns the address of a word by its distance from the first byte of all samples. */
@inline
function wordAt(distance: u64): usize {
  return SamplePlace.ring + (<u32>distance & (RING_BYTES - 1));
}

/** Reserves bytes; -1 if the parent has not read enough. */
function reserve(bytes: u32): u64 {
  let head: u64;
  do {
    head = atomic.load<u64>(Sampling.head);
    if (head + bytes - load<u64>(Sampling.tail) > RING_BYTES) return <u64>-1;
  } while (atomic.cmpxchg<u64>(Sampling.head, head, head + bytes) !== head);
  return head;
}

/** Writes the stack that a thread's sampler has walked. */
export function handOut(thread: u32, sampler: usize, frames: u32, end: u32): void {
  const bytes: u32 = (Sample.sites + 4 * frames + 7) & ~7;
  const at = reserve(bytes);
  if (at === <u64>-1) {
    atomic.add<u64>(Sampling.refused, 1);
    return;
  }
  const time = load<u64>(sampler, Sampler.now) - load<u64>(Header.start);
  store<u32>(wordAt(at + Sample.thread), ((thread - Place.threads) / THREAD_BYTES) | (end << 16));
  store<u32>(wordAt(at + Sample.id), load<u32>(thread, Thread.id));
  store<u32>(wordAt(at + Sample.frames), frames);
  store<u32>(wordAt(at + Sample.time), <u32>time);
  store<u32>(wordAt(at + Sample.timeHigh), <u32>(time >>> 32));
  store<u32>(wordAt(at + Sample.missed), load<u32>(sampler, Sampler.missed));
  for (let i: u32 = 0; i < frames; i++)
    store<u32>(wordAt(at + Sample.sites + 4 * i), load<u32>(sampler + 4 * i, Sampler.sites));
  atomic.store<u32>(wordAt(at), bytes);
}
