// The waste tool with one id per byte: merged into modules function by function, as the heap profiler's code is.
export {
  loaded,
  mixed1,
  mixed16,
  mixed2,
  mixed4,
  mixed8,
  stored,
  storing,
} from "./accesses";
export { allocated, moved, reallocated, released, stackMoved } from "./blocks";
export {
  arrived,
  copying,
  filling,
  hostMayRead,
  hostRead,
  hostWrote,
  initialized,
  initializing,
  left,
  segment,
  touched,
} from "./ranges";
export { markLineDirty } from "../dirty";
export {
  freshInFrame1,
  freshInFrame16,
  freshInFrame2,
  freshInFrame4,
  freshInFrame8,
  freshPlaced1,
  freshPlaced16,
  freshPlaced2,
  freshPlaced4,
  freshPlaced8,
  sameInFrame1,
  sameInFrame16,
  sameInFrame2,
  sameInFrame4,
  sameInFrame8,
  samePlaced1,
  samePlaced16,
  samePlaced2,
  samePlaced4,
  samePlaced8,
} from "./placed";
export {
  assignInFrame1,
  assignInFrame16,
  assignInFrame2,
  assignInFrame4,
  assignInFrame8,
  assignPlaced1,
  assignPlaced16,
  assignPlaced2,
  assignPlaced4,
  assignPlaced8,
} from "./assign";
export { enterFrame } from "../../../../contexts/assembly/frames";
export { growing, grown, notePages } from "../memory";
export { looped } from "./loops";
