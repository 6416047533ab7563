import type { BlockDrag } from "../../../../profile/model/over-time/drag.ts";
import { Drag } from "../layout.ts";

/** What a context's ended blocks say of drag: its entry of the table in a shadow memory, at byte `at`. */
export function readDrag(view: DataView, at: number): BlockDrag {
  const u64 = (field: number): number => Number(view.getBigUint64(at + field, true));
  return {
    followed: view.getUint32(at + Drag.followed, true),
    blocks: u64(Drag.blocks),
    bytes: u64(Drag.bytes),
    byteTime: u64(Drag.byteTime),
    draggedByteTime: u64(Drag.dragged),
    lateBlocks: u64(Drag.lateBlocks),
    lateBytes: u64(Drag.lateBytes),
    byteWork: view.getFloat64(at + Drag.byteWork, true),
    lateByteWork: view.getFloat64(at + Drag.lateByteWork, true),
    lateUsedByteWork: view.getFloat64(at + Drag.lateUsedByteWork, true),
    lateLastUse: u64(Drag.lateLastUse),
    lateFollowed: view.getUint32(at + Drag.lateFollowed, true),
  };
}
