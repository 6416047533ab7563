// The waste tool with one id per byte: merged into modules function by function, as the heap profiler's code is.
export {
  fresh1, fresh16, fresh2, fresh4, fresh8, loaded, mixed16, mixed2, mixed4, mixed8, same1, same16, same2, same4, same8, sameAt1,
  sameAt16, sameAt2, sameAt4, sameAt8, stored, storing,
} from "./brief";
export { allocated, reallocated, released, stackMoved } from "./brief-blocks";
export {
  arrived, copying, filling, hostMayRead, hostRead, hostWrote, initialized, initializing, left, segment, touched,
} from "./brief-ranges";
export { soiled } from "./dirty";
export { enterFrame } from "../frames/frames";
export {
  began112, began128, began16, began32, began48, began64, began80, began96, ended112, ended128, ended16, ended32, ended48, ended64,
  ended80, ended96, moved,
} from "./stack-frames";
export { enterNest, watched } from "./known";
export { growing, grown, notePages } from "./memory";
export { looped } from "./streams";
