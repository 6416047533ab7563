import { Frame, NODE_BYTES, NOWHERE, Node, SLOT_BYTES } from "../layout.ts";
import { decodeSlots, type SlotTable } from "./slot-table.ts";

/** A frame: what a function has in memory for one context it ran in. */
export interface ContextFrame {
  address: number;
  /** The function, among the defined ones. */
  defined: number;
  node: number;
  /** Bytes of its header and records; its slots come behind. */
  bytes: number;
}

/** Where the tables of frames lie, and the module's slots as `encodeSlots` has written them. */
export interface FrameTablesLayout {
  arena: number;
  nodes: number;
  slots: Uint8Array;
}

/** Reads the frames of the contexts that one instance's functions ran in. */
export class FrameTables {
  readonly #layout: FrameTablesLayout;
  readonly #slots: SlotTable;

  constructor(layout: FrameTablesLayout) {
    this.#layout = layout;
    this.#slots = decodeSlots(layout.slots);
  }

  /** All frames by address, or those from one on. `end`: where the next one would begin, 0 before there is any. */
  *frames(view: DataView, end: number, from = this.#layout.arena): Generator<ContextFrame> {
    const { firstOfFunction } = this.#slots;
    for (let address = from; address < end; ) {
      const defined = view.getUint32(address + Frame.tag, true) - 1;
      const bytes = view.getUint32(address + Frame.bytes, true);
      yield { address, defined, node: view.getUint32(address + Frame.node, true), bytes };
      address += bytes + (firstOfFunction[defined + 1] - firstOfFunction[defined]) * SLOT_BYTES;
    }
  }

  /** Code offset of the call whose slot is `distance` bytes behind a frame's header and records. */
  callAt({ defined }: ContextFrame, distance: number): number {
    const { offset, firstOfFunction } = this.#slots;
    return offset[firstOfFunction[defined] + distance / SLOT_BYTES];
  }

  /** Code offsets of the calls that lead to a node of the calling context tree, innermost first; none for `NOWHERE`. */
  callers(view: DataView, from: number): number[] {
    const path: number[] = [];
    for (let node = from === NOWHERE ? 0 : from; node !== 0; ) {
      const { offset, parent } = this.call(view, node);
      path.push(offset);
      node = parent;
    }
    return path;
  }

  /** The call that leads to a node which is not the root: its code offset, and the node that it is made in. */
  call(view: DataView, node: number): { offset: number; parent: number } {
    const at = this.#layout.nodes + node * NODE_BYTES;
    return {
      // Slots are counted from 1.
      offset: this.#slots.offset[view.getUint32(at + Node.place, true) - 1],
      parent: view.getUint32(at + Node.parent, true),
    };
  }
}
