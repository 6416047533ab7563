import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import type { BlockMerge } from "../merge/block-merge.ts";

/** Where the bytes of a run go. They are valid until `append` returns. */
export interface RunSink {
  append(bytes: Uint8Array): void;
}

/** What a stack of a run has. */
export const STACK = { context: 1, callSite: 2, flagBits: 2 } as const;

/** A context's block, and what belongs to it besides. */
export interface RunContext {
  readonly blocks: BlockMerge;
  readonly row: number;
  readonly histogram: BigUint64Array | undefined;
  /** Functions that have a record of it without being in its innermost inline chain. */
  readonly otherFunctions: Iterable<bigint>;
}

const PIECE_BYTES = 1 << 16;

/** Writes a run stack by stack, in the order of the walk, the empty one first. */
export class RunWriter {
  readonly #sink: RunSink;
  readonly #writer = new ByteWriter(PIECE_BYTES + (PIECE_BYTES >> 3));
  #depth = 0;

  constructor(sink: RunSink) {
    this.#sink = sink;
  }

  /** @param depth number of the stack's frames; with 0, the frame says nothing */
  stack(depth: number, frame: number, isCallSite: boolean, context: RunContext | undefined): void {
    const flags = (context === undefined ? 0 : STACK.context) + (isCallSite ? STACK.callSite : 0);
    this.#writer.u32Leb(this.#depth + 1 - depth).u32Leb(frame * 2 ** STACK.flagBits + flags);
    this.#depth = depth;
    if (context !== undefined) this.#context(context);
    if (this.#writer.length >= PIECE_BYTES) this.#flush();
  }

  /** Ends the run. */
  end(): void {
    this.#flush();
  }

  #context({ blocks, row, histogram, otherFunctions }: RunContext): void {
    const writer = this.#writer;
    writer.u64Leb(blocks.dependsOnOrder ? blocks.lastInputOf(row) + 1 : 0);
    for (let field = 0; field < blocks.fields.length; field++)
      writer.wordsLeb(blocks.lowOf(field, row), blocks.highOf(field, row));
    const others = [...otherFunctions];
    writer.u32Leb(histogram?.length ?? 0).u32Leb(others.length);
    for (const value of histogram ?? []) writer.u64Leb(value);
    for (const guid of others) writer.u64Leb(guid);
  }

  #flush(): void {
    this.#sink.append(this.#writer.view());
    this.#writer.clear();
  }
}
