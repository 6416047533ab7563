/**
 * The library for Node: all functions of the library for web pages, and those that read and write files.
 *
 * @module memshade
 */
import "./record/host/node/node-scripts.ts";

export * from "./browser.ts";
export { type Dump, dump, reset } from "./record/host/dump.ts";
export { readMemoryImage } from "./record/host/memory-image.ts";
export { writeRunFolder } from "./record/host/run/folder-claim.ts";
export { type ReportPageOptions, writeReportPage } from "./runs/page/library.ts";
export type { ExportFormat } from "./show/exports/export-formats.ts";
export { type ExportProfileOptions, exportProfile } from "./show/exports/export-profile.ts";
