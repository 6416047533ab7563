// Summary mode, which keeps one id per byte: merged into modules function by function, as the heap profiler's code is.
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
export { allocated, reallocated, released, stackMoved } from "./blocks";
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
export {
  began112,
  began128,
  began16,
  began32,
  began48,
  began64,
  began80,
  began96,
  ended112,
  ended128,
  ended16,
  ended32,
  ended48,
  ended64,
  ended80,
  ended96,
  moved,
} from "./stack-frames";
export { growing, grown, notePages } from "../memory";
export { looped } from "./loops";
