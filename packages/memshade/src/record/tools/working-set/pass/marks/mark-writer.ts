import * as Op from "../../../../../code/wasm/op.generated.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import { writeLine } from "./line-of-address.ts";

/** What the marks' code refers to. */
export interface MarkTargets {
  memory: number;
  memory64: boolean;
  /** Lines there are; the one behind them stands for addresses that are not followed. */
  lines: number;
  /** Shadow addresses of the planes of marks, by kinds of access. */
  planes: readonly number[];
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

  #store(sink: SnippetSink, kinds: number): void {
    sink.i32(1);
    sink.access(Op.I32_STORE8, 0, this.#targets.memory, this.#targets.planes[kinds]);
  }
}
