// The commands that record: loaded at once, since they share nearly all that they load.
export { addInstrumentCommand } from "./instrument.ts";
export { addNodeCommand } from "./node.ts";
export { addRunCommand } from "./run.ts";
