// Entry points of the code that runs inside the profiled module. It is merged into the module function by
// function. It has no data and no start function, and calls only the two functions of the host object, by
// guarded table calls.
export { allocatedAnyhow as allocatedRarely, reallocated, releasedRarely, renewed } from "./blocks";
export { poll } from "./drag";
export { countRange, countStrided, countTrips, hostRead, noteFill } from "./bulk";
export { stackLeft, stackMoving } from "./stack-takes";
