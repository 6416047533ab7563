// Reads all call frame information of a file into a table, in a process of its own, measured by bench/unwind/run.ts.
import { fstatSync, openSync, readSync } from "node:fs";

// Arguments: URL of `memshade/unwind` as Node loads it, and the file.
const [library, path] = process.argv.slice(2) as [string, string];
const { openObject, UnwindTable } = await import(library);

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
