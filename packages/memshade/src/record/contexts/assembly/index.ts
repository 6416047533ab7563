// Frames alone, for tools that have no other code in the profiled program.
export { enterFrame } from "./frames";
