// Precise mode: contexts, pairs and objects, with a writer, a reader and a value per byte.
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
