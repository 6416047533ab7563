/**
 * The library in Node: what works in a web page too, and what reads and writes files.
 *
 * @module memshade
 */
import "./host/node/node-scripts.ts";

export * from "./browser.ts";
export type { ExportFormat } from "./exports/export-formats.ts";
export { type ExportProfileOptions, exportProfile } from "./exports/export-profile.ts";
export { type Dump, dump, reset } from "./host/dump.ts";
export { readMemoryImage } from "./host/memory-image.ts";
export { writeRunFolder } from "./host/run/folder-claim.ts";
export { type ReportPageOptions, writeReportPage } from "./runs/page/library.ts";
