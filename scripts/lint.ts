// Runs all checks without running the code, except the types of TypeScript: format and findings of Biome, the same and types for
// AssemblyScript, and unused code, which `--quick` leaves out. `--write` repairs findings where possible.
import { AssemblyCopy } from "./assembly-copy.ts";
import { BIOME, KNIP, runTool, TSC } from "./tools.ts";

const isWritten = process.argv.includes("--write");
const biomeArguments = ["check", "--error-on-warnings", ...(isWritten ? ["--write"] : [])];

async function checkAssembly(): Promise<boolean> {
  const copy = new AssemblyCopy();
  try {
    const isClean = await runTool(BIOME, [...biomeArguments, "packages"], copy.folder);
    const isTyped = await runTool(TSC, ["-p", "."], copy.folder);
    const changed = copy.changedFiles(isWritten);
    if (!isWritten)
      for (const file of changed) console.log(`${file}: a decorator stands on a line of its own`);
    return isClean && isTyped && (isWritten || changed.length === 0);
  } finally {
    copy.remove();
  }
}

const results = await Promise.all([
  runTool(BIOME, [...biomeArguments, "."]),
  checkAssembly(),
  // Unused code: with tests, scripts and benchmarks, and once more with the published code alone, which must contain nothing that only tests use.
  ...(process.argv.includes("--quick") ? [] : [runTool(KNIP, []), runTool(KNIP, ["--production"])]),
]);
process.exitCode = results.every(Boolean) ? 0 : 1;
