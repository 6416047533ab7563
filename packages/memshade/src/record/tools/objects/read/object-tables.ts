import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { getU64 } from "../../../../ground/bytes/numbers.ts";
import { FrameWord } from "../../../contexts/frames/frame-memory.ts";
import { type ContextFrame, FrameTables } from "../../../contexts/frames/frame-tables.ts";
import { FRAME_HEADER_BYTES, INDEX_ENTRY_BYTES, NODE_BYTES } from "../../../contexts/layout.ts";
import { HOST_FRAMES, notedFrames } from "../../working-set/read/note-stack.ts";
import { COUNTER_BYTES, Control, SAMPLE_BYTES, Sample, SampleState } from "../layout.ts";
import type { ObjectsLayout } from "../memory-plan.ts";
import type { Counts } from "./counts.ts";
import { type IntervalChanges, readIntervals } from "./read-intervals.ts";

/** Row of the table of samples. Birth and death are in bytes that the instance had allocated. */
export interface SampleRow {
  /** Number of the event that made the object. */
  readonly site: number;
  readonly state: keyof typeof SampleState;
  readonly size: number;
  readonly weight: number;
  readonly birth: number;
  readonly death: number;
  readonly stack: number;
  /** Frame of the function that made it, 0 for none. */
  readonly frame: number;
}

const STATES = Object.keys(SampleState) as (keyof typeof SampleState)[];

export class ObjectTables {
  readonly #view: DataView;
  readonly #frames: FrameTables | undefined;
  readonly layout: ObjectsLayout;

  constructor(buffer: ArrayBufferLike, layout: ObjectsLayout) {
    this.#view = new DataView(buffer);
    this.layout = layout;
    const { arena, nodes, slots, contexts } = layout;
    if (contexts) this.#frames = new FrameTables({ arena, nodes, slots: bytesOfBase64(slots) });
  }

  counts(): Counts {
    const { counters, counterCount } = this.layout;
    return {
      table: Float64Array.from({ length: counterCount }, (_, number) =>
        this.counterAt(counters + number * COUNTER_BYTES),
      ),
      frames: new Map(
        [...this.frames()].map(({ address, defined, node, bytes }) => [
          address,
          {
            defined,
            node,
            counts: Float64Array.from({ length: (bytes - FRAME_HEADER_BYTES) / COUNTER_BYTES }, (_, number) =>
              this.counterAt(address + FRAME_HEADER_BYTES + number * COUNTER_BYTES),
            ),
          },
        ]),
      ),
    };
  }

  /** Returns the frames in the order of their addresses, from an address on. */
  frames(from = this.layout.arena): Iterable<ContextFrame> {
    return this.#frames === undefined ? [] : this.#frames.frames(this.#view, this.framesEnd, from);
  }

  /** Start of the next frame, 0 before the first one. */
  get framesEnd(): number {
    return this.#frames === undefined ? 0 : this.#frameWord("frameNext");
  }

  intervals(): IntervalChanges[] {
    return readIntervals(this.#view, this.layout);
  }

  counterAt(address: number): number {
    return getU64(this.#view, address);
  }

  /** Returns the call of a node of the calling context tree: see `FrameTables.call`. */
  call(node: number): { offset: number; parent: number } {
    return this.#frames!.call(this.#view, node);
  }

  get sampleCount(): number {
    return this.layout.sampleCapacity === 0 ? 0 : this.#view.getUint32(Control.samples, true);
  }

  /** Bytes allocated when the engine was last asked to collect garbage, −1: never. */
  get settled(): number {
    return this.layout.sampleCapacity === 0 ? -1 : this.#view.getFloat64(Control.settled, true);
  }

  /** Approximate memory that was touched, bytes. */
  get usedBytes(): number {
    const { counters, counterCount } = this.layout;
    const stacks = this.layout.sampleCapacity === 0 ? 0 : this.#view.getUint32(Control.stackNext, true);
    return (
      this.sampleCount * SAMPLE_BYTES +
      stacks +
      this.#frameBytes +
      counterCount * COUNTER_BYTES +
      (counters > 0 ? 64 : 0)
    );
  }

  samples(): SampleRow[] {
    const view = this.#view;
    return Array.from({ length: this.sampleCount }, (_, row) => {
      const at = this.layout.samples + row * SAMPLE_BYTES;
      return {
        site: view.getUint32(at + Sample.site, true),
        state: STATES[view.getUint32(at + Sample.state, true)],
        size: view.getFloat64(at + Sample.size, true),
        weight: view.getFloat64(at + Sample.weight, true),
        birth: view.getFloat64(at + Sample.birth, true),
        death: view.getFloat64(at + Sample.death, true),
        stack: view.getUint32(at + Sample.stack, true),
        frame: view.getUint32(at + Sample.frame, true),
      };
    });
  }

  /**
   * Returns the number of the host's stack that entered the module to make an object, −1 if it was not noted.
   */
  hostOf({ stack }: SampleRow): number {
    const outermost = notedFrames(this.#view, this.layout.stacks, stack).at(-1);
    return outermost?.function === HOST_FRAMES ? outermost.offset : -1;
  }

  #frameWord(word: "frameNext" | "nodeNext"): number {
    return this.#view.getUint32(Control.frames + FrameWord[word], true);
  }

  /** Bytes of frames, nodes, and entries of the table that maps to both. */
  get #frameBytes(): number {
    if (this.#frames === undefined) return 0;
    const nodes = this.#frameWord("nodeNext");
    return Math.max(0, this.framesEnd - this.layout.arena) + nodes * (NODE_BYTES + 2 * INDEX_ENTRY_BYTES);
  }
}
