// Runtime of the working-set tool inside the profiled module. Merged into it function by function: no data, no start
// function, no calls out except those of the host object.
export { copied, filled, hostRead, hostWrote, initialized } from "./touch";
export { entered, enteredBoth, enteredTimed, noteSize, poll, pollBoth, pollFlag } from "./snapshot";
