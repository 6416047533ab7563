// The commands that read what was recorded: loaded at once, since they share nearly all that they load.

export { addWastePrintCommand } from "../report/waste-print.ts";
export { addDiffCommand } from "./diff.ts";
export { addReportCommand } from "./report.ts";
export { addTopCommand } from "./top.ts";
export { addTreeCommand } from "./tree.ts";
