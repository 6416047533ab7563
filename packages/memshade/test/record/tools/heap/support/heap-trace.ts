/** An event of the heap. `number`: the allocations before it; for an allocation, its own number. */
interface HeapEvent {
  readonly kind: "allocation" | "release";
  readonly number: number;
  readonly context: string;
  readonly bytes: number;
}

interface TracedBlock {
  readonly context: string;
  readonly bytes: number;
  readonly begin: number;
  lastAccess: number | undefined;
}

/** Exact figures of a block's end from the trace; periodic checks approximate them. */
export interface EndedBlock {
  readonly context: string;
  readonly bytes: number;
  readonly life: number;
  /** 0 for blocks that were never accessed, or that a reallocation ended. */
  readonly drag: number;
}

/** All events in order; figures of an interval are computed from the whole trace. */
export class HeapTrace {
  readonly events: HeapEvent[] = [];
  readonly ended: EndedBlock[] = [];
  readonly #live = new Map<number, TracedBlock>();
  allocations = 0;

  allocate(address: number, bytes: number, context: string): void {
    this.allocations++;
    this.events.push({ kind: "allocation", number: this.allocations, context, bytes });
    this.#live.set(address, { context, bytes, begin: this.allocations, lastAccess: undefined });
  }

  /** @param moves true for a reallocation, which belongs to the interval of the allocation that follows */
  release(address: number, moves = false): void {
    const block = this.#live.get(address);
    if (block === undefined) return;
    this.#live.delete(address);
    const { context, bytes, begin, lastAccess } = block;
    this.events.push({ kind: "release", number: this.allocations + (moves ? 1 : 0), context, bytes });
    this.ended.push({
      context,
      bytes,
      life: this.allocations - begin,
      drag: moves || lastAccess === undefined ? 0 : this.allocations - lastAccess,
    });
  }

  access(address: number): void {
    const block = this.#live.get(address);
    if (block !== undefined) block.lastAccess = this.allocations;
  }

  releaseAll(): void {
    for (const address of [...this.#live.keys()]) this.release(address);
  }

  /** Figures of allocations `start` + 1 to `end`. `isLast`: including all later events. */
  interval(start: number, end: number, isLast: boolean) {
    let live = { bytes: 0, blocks: 0 };
    let max = live;
    let isInside = start === 0;
    const sums = { allocatedBytes: 0, freedBytes: 0, frees: 0 };
    const contexts = new Map<
      string,
      { allocations: number; allocatedBytes: number; frees: number; freedBytes: number }
    >();
    for (const { kind, number, context, bytes } of this.events) {
      if (number > end && !isLast) break;
      if (!isInside && number > start) {
        isInside = true;
        max = live;
      }
      const sign = kind === "allocation" ? 1 : -1;
      live = { bytes: live.bytes + sign * bytes, blocks: live.blocks + sign };
      if (!isInside) continue;
      if (live.bytes > max.bytes) max = live;
      const own = contexts.get(context) ?? { allocations: 0, allocatedBytes: 0, frees: 0, freedBytes: 0 };
      contexts.set(context, own);
      if (kind === "allocation") {
        sums.allocatedBytes += bytes;
        own.allocations++;
        own.allocatedBytes += bytes;
      } else {
        sums.freedBytes += bytes;
        sums.frees++;
        own.frees++;
        own.freedBytes += bytes;
      }
    }
    if (!isInside) max = live;
    return {
      figures: {
        liveBytes: live.bytes,
        liveBlocks: live.blocks,
        maxBytes: max.bytes,
        maxBlocks: max.blocks,
        ...sums,
      },
      contexts,
    };
  }
}
