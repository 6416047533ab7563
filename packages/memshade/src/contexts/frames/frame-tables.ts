import { Frame, NODE_BYTES, NOWHERE, Node, SLOT_BYTES } from "../layout.ts";
import type { CallSites } from "./call-sites.ts";

/** A frame: what a function has in memory for one context it ran in. */
export interface ContextFrame {
  address: number;
  /** The function, among the defined ones. */
  defined: number;
  node: number;
  /** Bytes of its header and records; its slots come behind. */
  bytes: number;
}

/** Where the tables of frames lie, and a bit per call of the module: it has a slot; it keeps the context. */
export interface FrameTablesLayout {
  arena: number;
  nodes: number;
  slots: Uint8Array;
  keeps: Uint8Array;
}

/** Reads the frames of the contexts that one instance's functions ran in. */
export class FrameTables {
  readonly #layout: FrameTablesLayout;
  /** Code offset of the call of each slot, and first slot by defined function. */
  readonly #offsetOfSlot: number[] = [];
  readonly #firstSlot: number[] = [];

  constructor(layout: FrameTablesLayout, calls: CallSites) {
    this.#layout = layout;
    const { slots, keeps } = layout;
    const functions = calls.firstOfFunction.length - 1;
    for (let defined = 0; defined < functions; defined++) {
      this.#firstSlot.push(this.#offsetOfSlot.length);
      for (const kept of [false, true])
        for (let call = calls.firstOfFunction[defined]; call < calls.firstOfFunction[defined + 1]; call++)
          if (hasBit(slots, call) && hasBit(keeps, call) === kept)
            this.#offsetOfSlot.push(calls.offset[call]);
    }
    this.#firstSlot.push(this.#offsetOfSlot.length);
  }

  /** All frames by address. `end`: where the next one would begin, 0 before there is any. */
  *frames(view: DataView, end: number): Generator<ContextFrame> {
    for (let address = this.#layout.arena; address < end; ) {
      const defined = view.getUint32(address + Frame.tag, true) - 1;
      const bytes = view.getUint32(address + Frame.bytes, true);
      yield { address, defined, node: view.getUint32(address + Frame.node, true), bytes };
      address += bytes + (this.#firstSlot[defined + 1] - this.#firstSlot[defined]) * SLOT_BYTES;
    }
  }

  /** Code offset of the call whose slot is `distance` bytes behind a frame's header and records. */
  callAt({ defined }: ContextFrame, distance: number): number {
    return this.#offsetOfSlot[this.#firstSlot[defined] + distance / SLOT_BYTES];
  }

  /** Code offsets of the calls that lead to a node of the calling context tree, innermost first; none for `NOWHERE`. */
  callers(view: DataView, from: number): number[] {
    const path: number[] = [];
    for (let node = from === NOWHERE ? 0 : from; node !== 0; ) {
      const at = this.#layout.nodes + node * NODE_BYTES;
      // Slots are counted from 1.
      path.push(this.#offsetOfSlot[view.getUint32(at + Node.place, true) - 1]);
      node = view.getUint32(at + Node.parent, true);
    }
    return path;
  }
}

function hasBit(bits: Uint8Array, index: number): boolean {
  return (bits[index >>> 3] & (1 << (index & 7))) !== 0;
}
