// The waste tool with writers, readers and values: contexts, pairs and objects.
export { current, enter, leave } from "./contexts";
export {
  allocated, copying, filling, hostMayRead, hostRead, hostWrote, initialized, loaded, notePages, reallocated, released,
  segment, stackMoved, stored, storing, touched,
} from "./full";
