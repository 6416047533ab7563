// The waste tool with writers, readers and values: contexts, pairs, objects and copies.
export { loaded, loadedToMove, stored, storedMove, storing } from "./accesses";
export { allocated, reallocated, released, stackMoved } from "./blocks";
export { current, enter, leave } from "./contexts";
export {
  copying, filling, grown, hostMayRead, hostRead, hostWrote, initialized, initializing, notePages, segment, touched,
} from "./ranges";
