import { ACCESS_BYTES, I32 } from "../../../../../code/wasm/index.ts";
import type { WalkState } from "../../../../rewrite/tool.ts";
import { keepAddress } from "../../../../rewrite/walk/keep-address.ts";
import { CONSTANT, ValueClass } from "../../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../../rewrite/write/temporaries.ts";
import type { IntervalPass } from "../../pass/interval-pass.ts";
import { alignmentHint } from "../../pass/marks/alignment-hint.ts";
import { BesideMarks } from "../../pass/marks/beside-marks.ts";
import { type SampledPlace, type SampleTargets, SampleWriter } from "./sample-writer.ts";
import { type Touch, Touches, takeIn } from "./touches.ts";

/**
 * The working-set tool with a sample of its locality: everything that the marks' pass does, and beside it a comparison of
 * each line's hash. What follows another reference to its place in straight code is a hit in any cache of some size, and
 * goes without; so do the stack and constant addresses.
 */
export class SamplingPass extends BesideMarks {
  readonly #targets: SampleTargets;
  readonly #touches = new Touches();
  readonly #writer: SampleWriter;

  constructor(marks: IntervalPass, targets: SampleTargets) {
    super(marks);
    this.#targets = targets;
    this.#writer = new SampleWriter(targets, (sink) => marks.writeClock(sink));
  }

  override begin(state: WalkState, codeStart: number): void {
    super.begin(state, codeStart);
    this.#touches.reset();
  }

  override access(op: number, at: number, displacement: number, start: number, end: number): void {
    super.access(op, at, displacement, start, end);
    const { stack, values, module } = this.state;
    const base = stack.value[at];
    if (base === CONSTANT || values.classes[base] === ValueClass.Stack) return;
    const size = ACCESS_BYTES[op];
    const isWhole = 1 << alignmentHint(module.bytes, start) >= size;
    for (const within of isWhole ? [0] : [0, size - 1])
      this.#touch(op, at, displacement + within, start, end);
  }

  #touch(op: number, at: number, displacement: number, start: number, end: number): void {
    const { stack, insertions, module } = this.state;
    const touches = this.#touches;
    const base = stack.value[at];
    const offset = (stack.offset[at] + displacement) | 0;
    if (touches.covers(base, offset)) return;
    const site = start - module.codePayloadStart;
    const near = touches.near(base, offset);
    // Addresses of 64 bits are not looked at below what a local holds.
    const isBelow = near !== undefined && near.offset < stack.offset[at];
    const earlier = this.#targets.memory64 && isBelow ? undefined : near;
    const local = keepAddress(this.state, at, op, start);
    const touch = touches.add({ base, offset, site, position: start, local, held: stack.offset[at] });
    insertions.add(end, { write: (sink) => this.#sample(sink, touch) });
    if (earlier !== undefined) takeIn(touch, earlier);
  }

  override endBlock(): void {
    super.endBlock();
    this.#touches.endBlock();
  }

  override merge(position: number): void {
    super.merge(position);
    this.#touches.forgetSince(position);
  }

  override enterLoop(body: number): void {
    super.enterLoop(body);
    this.#touches.forgetAll();
  }

  override call(callee: number, tail: boolean, start: number, end: number): void {
    super.call(callee, tail, start, end);
    this.#touches.forgetAll();
  }

  override end(): void {
    super.end();
    if (this.#touches.all.length === 0) return;
    const { temporaries } = this.state;
    this.#writer.lower = extraLocal(temporaries, I32);
    this.#writer.upper = extraLocal(temporaries, I32);
    this.#writer.waits = extraLocal(temporaries, I32);
  }

  #sample(sink: SnippetSink, touch: Touch): void {
    if (!touch.isGone) this.#writer.sample(sink, placeOf(touch));
  }
}

function placeOf({ offset, held, extra, local, site, upperSite }: Touch): SampledPlace {
  return { local, displacement: (offset - held) | 0, site, extra, upperSite };
}
