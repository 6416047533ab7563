// Entry of the built file with the commands that read runs. They share nearly all the code that they load.

export { addWastePrintCommand } from "../report/waste-print.ts";
export { addDiffCommand } from "./diff.ts";
export { addReportCommand } from "./report.ts";
export { addRetainersCommand } from "./retainers.ts";
export { addTopCommand } from "./top.ts";
export { addTreeCommand } from "./tree.ts";
