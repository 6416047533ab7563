import type { RunThreads } from "../../model/run.ts";
import { Header, MOST_THREADS, Place, THREAD_BYTES, Thread } from "../layout.ts";

const NAME_BYTES = 16;

/** What threads have allocated, those of one name together, in the order in which they allocated first. `names`: by the threads' ids. */
export function readThreads(memory: SharedArrayBuffer, names: ReadonlyMap<number, string>): RunThreads[] {
  const view = new DataView(memory);
  const count = Math.min(view.getUint32(Header.threads, true), MOST_THREADS);
  const found = new Map<string, RunThreads>();
  for (let index = 0; index < count; index++) {
    const at = Place.threads + index * THREAD_BYTES;
    const field = (offset: number): number => Number(view.getBigUint64(at + offset, true));
    const [allocations, allocatedBytes] = [field(Thread.blocks), field(Thread.bytes)];
    if (allocations === 0) continue;
    const first = new TextDecoder().decode(new Uint8Array(memory, at + Thread.name, NAME_BYTES).slice());
    const name = names.get(view.getUint32(at + Thread.id, true)) ?? first.split("\0", 1)[0]!;
    const known = found.get(name) ?? { name, threads: 0, allocations: 0, allocatedBytes: 0 };
    found.set(name, {
      name,
      threads: known.threads + 1,
      allocations: known.allocations + allocations,
      allocatedBytes: known.allocatedBytes + allocatedBytes,
    });
  }
  return [...found.values()];
}
