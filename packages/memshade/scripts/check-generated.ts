// Imported by what runs the sources as they are: ends the process if generated files were built from others.
import { writeSync } from "node:fs";
import { BUILD_COMMAND, staleFiles } from "./assembly-sources.ts";

if (staleFiles().length > 0) {
  writeSync(2, `memshade: generated files are older than their sources; run: ${BUILD_COMMAND}\n`);
  process.exit(2);
}
