// Everything that is checked without running the code, but for the types of the TypeScript: format and findings of Biome, the
// same and types for what is written in AssemblyScript, and what nobody uses. `--write` repairs what can be repaired.
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
  // Once with tests, scripts and benchmarks, and once what is published alone: it has nothing that only tests use.
  runTool(KNIP, []),
  runTool(KNIP, ["--production"]),
]);
process.exitCode = results.every(Boolean) ? 0 : 1;
