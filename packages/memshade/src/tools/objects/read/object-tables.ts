import { type NotedFrame, notedFrames } from "../../working-set/read/note-stack.ts";
import { allocates, fixedLength } from "../instructions.ts";
import { COUNTER_BYTES, Control, SAMPLE_BYTES, Sample, SampleState } from "../layout.ts";
import type { ObjectsLayout } from "../memory-plan.ts";
import type { SizeModel } from "../size-model.ts";
import type { KnownObjects } from "./module-objects.ts";

/** A row of the table of samples. Birth and death are bytes that the instance had allocated. */
export interface SampleRow {
  /** Number of the event that made the object. */
  readonly site: number;
  readonly state: keyof typeof SampleState;
  readonly size: number;
  readonly weight: number;
  readonly birth: number;
  readonly death: number;
  readonly stack: number;
}

const STATES = Object.keys(SampleState) as (keyof typeof SampleState)[];

/** The tables of one instance. */
export class ObjectTables {
  readonly #view: DataView;
  readonly layout: ObjectsLayout;

  constructor(buffer: ArrayBufferLike, layout: ObjectsLayout) {
    this.#view = new DataView(buffer);
    this.layout = layout;
  }

  counter(number: number): number {
    return Number(this.#view.getBigUint64(this.layout.counters + number * COUNTER_BYTES, true));
  }

  get sampleCount(): number {
    return this.layout.sampleCapacity === 0 ? 0 : this.#view.getUint32(Control.samples, true);
  }

  /** Bytes that were allocated when the engine had last been asked to collect, −1: never. */
  get settled(): number {
    return this.layout.sampleCapacity === 0 ? -1 : this.#view.getFloat64(Control.settled, true);
  }

  /** Memory that was touched, about, bytes. */
  get usedBytes(): number {
    const { counters, counterCount } = this.layout;
    const stacks = this.layout.sampleCapacity === 0 ? 0 : this.#view.getUint32(Control.stackNext, true);
    return this.sampleCount * SAMPLE_BYTES + stacks + counterCount * COUNTER_BYTES + (counters > 0 ? 64 : 0);
  }

  /** All bytes by the counters, what constant expressions made left out, as the countdown does. */
  allocatedBytes({ events, module }: KnownObjects, model: SizeModel): number {
    let bytes = 0;
    for (const { op, first, second, counter, elements } of events) {
      if (!allocates(op)) continue;
      const type = module.types[first];
      const times = this.counter(counter);
      const length = elements === 0 ? times * fixedLength(op, second) : this.counter(elements);
      bytes += times * model.fixedBytes(type) + length * model.elementBytes(type);
    }
    return bytes;
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
      };
    });
  }

  frames(stack: number): NotedFrame[] {
    return notedFrames(this.#view, this.layout.stacks, stack);
  }

  copy(): ObjectTables {
    return new ObjectTables(this.#view.buffer.slice(0, this.layout.endBytes), this.layout);
  }
}
