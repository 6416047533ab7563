export { describeFrame, describeStack, type FrameDescription } from "./frames.ts";
export { type HeapReportJsonOptions, heapReportJson } from "./json/heap-report.ts";
export { type TopJsonOptions, topJson } from "./json/top.ts";
export { type LoadedHeap, loadHeap } from "./load-run.ts";
export { type HeapReportOptions, heapReport } from "./terminal/heap-report.ts";
export { type ColorChoice, createPaint, type Paint, wantsColors } from "./terminal/paint.ts";
export { type TopTableOptions, topTable } from "./terminal/top-table.ts";
