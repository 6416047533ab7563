// Writes the types of each entry of the library, one file per entry.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { generateDtsBundle } from "dts-bundle-generator";

/** Entries that programs import: name in dist/ and source. The other two entries have the same types in web pages as in Node. */
const LIBRARY_ENTRIES = {
  index: "index",
  loader: "record/host/loader",
  unwinding: "unwinding",
  testing: "testing/index",
  "browser/index": "browser",
} as const;

const inPackage = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Writes dist/NAME.d.ts. @throws Error if the sources have errors */
export function writeTypes(): void {
  const entries = Object.values(LIBRARY_ENTRIES).map((path) => ({
    filePath: inPackage(`src/${path}.ts`),
    output: { noBanner: true, exportReferencedTypes: false },
  }));
  const texts = generateDtsBundle(entries, { preferredConfigPath: inPackage("tsconfig.build.json") });
  mkdirSync(inPackage("dist/browser"), { recursive: true });
  for (const [index, name] of Object.keys(LIBRARY_ENTRIES).entries())
    writeFileSync(inPackage(`dist/${name}.d.ts`), texts[index]!);
}
