import { type LinearForm, pushForm } from "../../../../rewrite/write/linear-form.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import * as Op from "../../../../wasm/op.generated.ts";
import { LINE_SHIFT, writeLine } from "./line-of-address.ts";

/** What the marks' code refers to. */
export interface MarkTargets {
  memory: number;
  memory64: boolean;
  /** Lines there are; the one behind them stands for addresses that are not followed. */
  lines: number;
  /** Shadow addresses of the planes of marks, by kinds of access. */
  planes: readonly number[];
  /** (first, last address, kinds): marks all lines from one to the other. */
  markRange: number;
}

/** Places that a loop touched in equal steps. */
export interface Span {
  /** The place one stride behind the last trip's. */
  end: LinearForm;
  stride: number;
  /** Local with the number of trips. */
  trips: number;
  /** Bytes behind each place that are touched too, at most a line. */
  extra: number;
  kinds: number;
}

/** Writes the code that marks lines: a one into the byte of the line, in the plane of its kinds of access. */
export class MarkWriter {
  readonly #targets: MarkTargets;
  constructor(targets: MarkTargets) {
    this.#targets = targets;
  }

  /** The line of the address in a local plus a constant. */
  mark(sink: SnippetSink, local: number, displacement: number, kinds: number): void {
    writeLine(sink, this.#targets.memory64, local, displacement, this.#targets.lines);
    this.#store(sink, kinds);
  }

  markLine(sink: SnippetSink, line: number, kinds: number): void {
    sink.i32(0);
    sink.i32(1);
    sink.access(Op.I32_STORE8, 0, this.#targets.memory, this.#targets.planes[kinds] + line);
  }

  /** On the stack: not zero if the address in a local plus a constant has one of the bits of `mask`. */
  isUnaligned(sink: SnippetSink, local: number, displacement: number, mask: number): void {
    sink.local(Op.LOCAL_GET, local);
    if (this.#targets.memory64) sink.plain(Op.I32_WRAP_I64);
    if (displacement !== 0) {
      sink.i32(displacement);
      sink.plain(Op.I32_ADD);
    }
    sink.i32(mask);
    sink.plain(Op.I32_AND);
  }

  /** `form`: an address that a loop did not change; it and the place `extra` bytes behind it were touched. */
  markFixed(sink: SnippetSink, form: LinearForm, extra: number, kinds: number): void {
    for (const distance of extra === 0 ? [0] : [0, extra]) {
      pushForm(sink, form, distance);
      this.#shift(sink);
      this.#store(sink, kinds);
    }
  }

  /** `near`: the span is so short that its ends lie in all its lines. */
  markSpan(sink: SnippetSink, { end, stride, trips, extra, kinds }: Span, near: boolean): void {
    const first = (): void => {
      pushForm(sink, end, stride < 0 ? extra : 0);
      sink.local(Op.LOCAL_GET, trips);
      if (stride !== 1 && stride !== -1) {
        sink.i32(Math.abs(stride));
        sink.plain(Op.I32_MUL);
      }
      sink.plain(stride > 0 ? Op.I32_SUB : Op.I32_ADD);
    };
    const last = (): void => pushForm(sink, end, -stride + (stride > 0 ? extra : 0));
    const places = stride > 0 ? [first, last] : [last, first];
    for (const write of places) {
      write();
      if (!near) continue;
      this.#shift(sink);
      this.#store(sink, kinds);
    }
    if (near) return;
    sink.i32(kinds);
    sink.indexed(Op.CALL, this.#targets.markRange);
  }

  #store(sink: SnippetSink, kinds: number): void {
    sink.i32(1);
    sink.access(Op.I32_STORE8, 0, this.#targets.memory, this.#targets.planes[kinds]);
  }

  #shift(sink: SnippetSink): void {
    sink.i32(LINE_SHIFT);
    sink.plain(Op.I32_SHR_U);
  }
}
