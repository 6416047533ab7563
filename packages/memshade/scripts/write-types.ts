// Writes the types of each entry of the library, all of them in one file.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { generateDtsBundle } from "dts-bundle-generator";
import { NODE_ENTRIES } from "./bundle.ts";

/** What programs import; the other entries are started. */
export const LIBRARY_ENTRIES = ["index", "loader", "unwinding"] as const;

const inPackage = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Writes dist/NAME.d.ts. @throws Error if the sources have errors */
export function writeTypes(): void {
  const entries = LIBRARY_ENTRIES.map((name) => ({
    filePath: inPackage(`src/${NODE_ENTRIES[name]}.ts`),
    output: { noBanner: true, exportReferencedTypes: false },
  }));
  const texts = generateDtsBundle(entries, { preferredConfigPath: inPackage("tsconfig.build.json") });
  mkdirSync(inPackage("dist"), { recursive: true });
  for (const [index, text] of texts.entries())
    writeFileSync(inPackage(`dist/${LIBRARY_ENTRIES[index]}.d.ts`), text);
}
