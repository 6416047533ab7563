// The waste tool with one id per byte: merged into modules function by function, as the heap profiler's code is.
export {
  allocated, arrived, copying, filling, fresh1, fresh16, fresh2, fresh4, fresh8, hostMayRead, hostRead, hostWrote, initialized,
  initializing, left, loaded, mixed16, mixed2, mixed4, mixed8, reallocated, released, same, sameAt, segment, stackMoved, stored,
  storing, touched,
} from "./brief";
export { soiled } from "./dirty";
export { enterFrame } from "../frames/frames";
export { grown, notePages } from "./memory";
export { looped } from "./streams";
