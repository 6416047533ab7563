// Summary mode, which keeps one id per byte. Its functions are merged into modules one by one, as those of the heap
// profiler are.
export {
  fresh1,
  fresh16,
  fresh2,
  fresh4,
  fresh8,
  loaded,
  mixed1,
  mixed16,
  mixed2,
  mixed4,
  mixed8,
  same,
  stored,
  storing,
} from "./accesses";
export { allocated, moved, reallocated, released, stackMoved } from "./blocks";
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
export { markLineDirty } from "../memory";
export { assigned } from "./ids";
export { enterFrame } from "../../../../contexts/assembly/frames";
export { growing, grown, notePages } from "../memory";
export { looped } from "./loops";
