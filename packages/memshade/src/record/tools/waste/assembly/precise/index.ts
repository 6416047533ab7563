// Precise mode, which keeps writers, readers and values per byte: contexts, pairs and objects.
export { loaded, stored, storing } from "./accesses";
export { allocated, reallocated, released, stackMoved } from "./blocks";
export { growing, grown, notePages } from "../memory";
export { enter } from "./contexts";
export {
  copying,
  filling,
  hostMayRead,
  hostRead,
  hostWrote,
  initialized,
  initializing,
  left,
  segment,
} from "./accesses";
