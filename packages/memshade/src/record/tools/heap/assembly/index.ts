// The code that runs inside the profiled module. Merged into it function by function: no data, no start function,
// no calls out except the two of the host object, which the merger turns into guarded table calls.
export { allocatedAnyhow as allocatedRarely, reallocated, releasedRarely, renewed } from "./blocks";
export { poll } from "./drag";
export { countRange, countStrided, countTrips, hostRead } from "./bulk";
export { stackLeft, stackMoving } from "./stack-takes";
