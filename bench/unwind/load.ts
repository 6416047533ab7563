// Reads all call frame information of a file into a table, in a process of its own: what bench/unwind/run.ts measures.
import { fstatSync, openSync, readSync } from "node:fs";

// Arguments: URL of the built package's folder, and the file.
const [built, path] = process.argv.slice(2) as [string, string];
const { openObject } = await import(new URL("objects/index.js", built).href);
const { UnwindTable } = await import(new URL("unwind/index.js", built).href);

const file = openSync(path, "r");
const { size } = fstatSync(file);
const source = {
  size,
  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
    readSync(file, bytes, 0, bytes.length, offset);
    return bytes;
  },
};
const table = UnwindTable.fromObject(openObject(source));
const { rowCount, entryCount, byteLength } = table;
const peakKib = process.resourceUsage().maxRSS;
console.log(JSON.stringify({ fdes: table.counts.fdes, rowCount, entryCount, byteLength, peakKib }));
