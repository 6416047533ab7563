import { Frame, NODE_BYTES, NOWHERE, Node, SLOT_BYTES } from "../layout.ts";
import { decodeSlots, type SlotTable } from "./slot-table.ts";

/** A frame: memory of a function for one context in which it ran. */
export interface ContextFrame {
  address: number;
  defined: number;
  node: number;
  /** Bytes of its header and records; its slots follow. */
  bytes: number;
}

/** Addresses of the frame tables, and the module's slots as written by `encodeSlots`. */
export interface FrameTablesLayout {
  arena: number;
  nodes: number;
  slots: Uint8Array;
}

export class FrameTables {
  readonly #layout: FrameTablesLayout;
  readonly #slots: SlotTable;

  constructor(layout: FrameTablesLayout) {
    this.#layout = layout;
    this.#slots = decodeSlots(layout.slots);
  }

  /** Yields frames by address. `end`: start of the next frame, 0 before the first. `from`: address to begin at. */
  *frames(view: DataView, end: number, from = this.#layout.arena): Generator<ContextFrame> {
    const { firstOfFunction } = this.#slots;
    for (let address = from; address < end; ) {
      const defined = view.getUint32(address + Frame.tag, true) - 1;
      const bytes = view.getUint32(address + Frame.bytes, true);
      yield { address, defined, node: view.getUint32(address + Frame.node, true), bytes };
      address += bytes + (firstOfFunction[defined + 1] - firstOfFunction[defined]) * SLOT_BYTES;
    }
  }

  /** Returns the code offset of the call whose slot is `distance` bytes after a frame's header and records. */
  callAt({ defined }: ContextFrame, distance: number): number {
    const { offset, firstOfFunction } = this.#slots;
    return offset[firstOfFunction[defined] + distance / SLOT_BYTES];
  }

  /** Returns the code offsets of the calls that lead to a node, innermost first; none for `NOWHERE`. */
  callers(view: DataView, from: number): number[] {
    const path: number[] = [];
    for (let node = from === NOWHERE ? 0 : from; node !== 0; ) {
      const { offset, parent } = this.call(view, node);
      path.push(offset);
      node = parent;
    }
    return path;
  }

  /** Returns the call that leads to a node other than the root: its code offset, and the node of its caller. */
  call(view: DataView, node: number): { offset: number; parent: number } {
    const at = this.#layout.nodes + node * NODE_BYTES;
    return {
      // Slot numbers start at 1.
      offset: this.#slots.offset[view.getUint32(at + Node.place, true) - 1],
      parent: view.getUint32(at + Node.parent, true),
    };
  }
}
