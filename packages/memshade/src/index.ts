// `memshade` in Node: what works in a web page too, and what reads and writes files.
import "./host/node/node-scripts.ts";

export * from "./browser.ts";
export { type Dump, dump, reset } from "./host/dump.ts";
export { readMemoryImage } from "./host/memory-image.ts";
export { writeRunFolder } from "./host/run/folder-claim.ts";
