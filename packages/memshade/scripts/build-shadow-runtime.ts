// Compiles the code that runs inside profiled modules and embeds it as base64, so that the rewriter needs no file
// access and works in a browser too.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";

const shadow = join(dirname(fileURLToPath(import.meta.url)), "../src/runtime/shadow");
const folder = mkdtempSync(join(tmpdir(), "memshade-build-"));
process.on("exit", () => rmSync(folder, { recursive: true }));
/** Entry point and generated file of each part; a tool's part is merged into a module only where the tool is asked for. */
const PARTS = [
  ["assembly/index.ts", "runtime.generated.ts", "SHADOW_RUNTIME_BASE64"],
  ["assembly/waste/index-brief.ts", "waste-brief.generated.ts", "WASTE_BRIEF_BASE64"],
  ["assembly/waste/index-full.ts", "waste-full.generated.ts", "WASTE_FULL_BASE64"],
  ["assembly/working-set/index.ts", "working-set.generated.ts", "WORKING_SET_RUNTIME_BASE64"],
  ["assembly/locality/index.ts", "locality.generated.ts", "LOCALITY_RUNTIME_BASE64"],
] as const;

for (const [entry, target, constant] of PARTS) {
  const outFile = join(folder, `${constant}.wasm`);
  const { error, stderr } = await asc.main([
    join(shadow, entry),
    ...["--outFile", outFile, "--runtime", "stub", "--noAssert", "-O3", "--converge"],
    ...["--importMemory", "--initialMemory", "1", "--enable", "simd", "--disableWarning", "201"],
  ]);
  if (error !== null) {
    process.stderr.write(stderr.toString());
    process.exit(1);
  }
  const base64 = readFileSync(outFile).toString("base64");
  writeFileSync(
    join(shadow, target),
    `// Built by scripts/build-shadow-runtime.ts.\nexport const ${constant} =\n  "${base64}";\n`,
  );
}
