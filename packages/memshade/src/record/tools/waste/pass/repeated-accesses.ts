import * as Op from "../../../../code/wasm/op.generated.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import type { Insertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";

/** An access inside of loops, its address without the displacement, and the outermost loop so far in which that stays the same. */
interface Candidate {
  site: number;
  value: number;
  loop: Loop | undefined;
}

/** Counts how often the loop at hand begins, if some of its accesses always come to one place while it runs. */
class Loop implements Insertion {
  readonly candidates: Candidate[] = [];
  readonly sites: number[] = [];
  readonly #counts: LoopCounts;
  /** The last value number, and how many assignments there were, when it began. */
  readonly lastValue: number;
  readonly time: number;

  constructor(counts: LoopCounts, lastValue: number, time: number) {
    this.#counts = counts;
    this.lastValue = lastValue;
    this.time = time;
  }

  write(sink: SnippetSink): void {
    const [first] = this.sites;
    if (first === undefined) return;
    const { memory } = this.#counts;
    const at = this.#counts.of(first);
    sink.i32(0);
    sink.i32(0);
    sink.access(Op.I64_LOAD, 3, memory, at);
    sink.i64(1n);
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, memory, at);
  }
}

/** Where the beginnings of a loop are counted: the memory, and the address, by the first site of those that are counted with it. */
export interface LoopCounts {
  memory: number;
  of(site: number): number;
}

/**
 * Finds the loads and stores that come to one place in all trips of a loop: what is there could be in a local variable while it runs.
 * They came there again as often as they ran, less how often the loop began.
 */
export class RepeatedAccesses {
  readonly #counts: LoopCounts;
  readonly #groups: (readonly number[])[] = [];
  #open: Loop[] = [];
  #state!: WalkState;

  constructor(counts: LoopCounts) {
    this.#counts = counts;
  }

  begin(state: WalkState): void {
    this.#state = state;
    this.#open = [];
  }

  /** A load or store whose address has this value. */
  access(site: number, value: number): void {
    this.#open.at(-1)?.candidates.push({ site, value, loop: undefined });
  }

  /** What the loop at hand begins with; stands before it. */
  enter(): Insertion {
    const { last, time } = this.#state.values;
    const loop = new Loop(this.#counts, last, time);
    this.#open.push(loop);
    return loop;
  }

  leave(): void {
    const loop = this.#open.pop();
    if (loop === undefined) return;
    const outer = this.#open.at(-1);
    const touched = new Set<Loop>();
    for (const candidate of loop.candidates) {
      if (this.#standsStill(candidate.value, loop)) candidate.loop = loop;
      if (candidate.loop === undefined) continue;
      if (candidate.loop === loop && outer !== undefined) outer.candidates.push(candidate);
      else {
        candidate.loop.sites.push(candidate.site);
        touched.add(candidate.loop);
      }
    }
    // A loop's accesses are settled when the one around it ends: each is counted with the first of them.
    for (const { sites } of touched) if (!this.#groups.includes(sites)) this.#groups.push(sites);
  }

  /** Whether a value is the same in all trips of a loop that has ended: it is from before, or from a local that is never assigned there. */
  #standsStill(value: number, { lastValue, time }: Loop): boolean {
    if (value === 0) return false;
    if (value <= lastValue) return true;
    const { origin, originTime, localTime } = this.#state.values;
    const local = origin[value];
    return local >= 0 && originTime[value] <= time && localTime[local] <= time;
  }

  /** The sites that are counted together, for the reader. */
  encode(): Uint8Array {
    const writer = new ByteWriter(64).u32Leb(this.#groups.length);
    for (const sites of this.#groups) {
      writer.u32Leb(sites.length);
      for (const site of sites) writer.u32Leb(site);
    }
    return writer.finish();
  }
}
