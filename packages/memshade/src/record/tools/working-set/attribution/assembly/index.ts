// Who owns the working set: added to the working-set tool where it is asked for, and merged into the profiled module
// function by function as that is.
export { enterFrame } from "../../../../contexts/assembly/frames";
export { allocated, reallocated, released, requested } from "./blocks";
export { attribute, merged } from "./snapshot";
export { accessed, copied, filled, hostAccessed, initialized, touched } from "./touch";
