// A copy of what is written in AssemblyScript that tools for TypeScript can read: decorators of functions and constants, which
// TypeScript does not have, are comments in it.
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packageFile, ROOT } from "./tools.ts";

const SOURCE = "packages/memshade/src";
const DECORATOR = /^@(\w+(?:\([^)\n]*\))?)[ \t\n]+/gm;
const MASKED_DECORATOR = /^\/\*@(\w+(?:\([^)\n]*\))?)\*\/\n/gm;

/** Decorators as comments, each on a line of its own. */
const mask = (text: string) => text.replaceAll(DECORATOR, "/*@$1*/\n");
const unmask = (text: string) => text.replaceAll(MASKED_DECORATOR, "@$1\n");

export class AssemblyCopy {
  /** Holds the copy at the same paths as the repository, `biome.json` and `tsconfig.json`. */
  readonly folder = mkdtempSync(join(tmpdir(), "memshade-assembly-"));
  readonly #files = globSync(`${SOURCE}/**/assembly/**/*.ts`, { cwd: ROOT }).filter(
    (file) => !file.endsWith(".generated.ts"),
  );

  constructor() {
    for (const file of this.#files) {
      mkdirSync(dirname(join(this.folder, file)), { recursive: true });
      writeFileSync(join(this.folder, file), mask(readFileSync(join(ROOT, file), "utf8")));
    }
    writeFileSync(join(this.folder, "biome.json"), JSON.stringify(biomeSettings()));
    writeFileSync(join(this.folder, "tsconfig.json"), JSON.stringify(typeSettings(this.folder)));
  }

  /** Files that are not what the copy says they should be. With `isWritten` they become that. */
  changedFiles(isWritten: boolean): string[] {
    return this.#files.filter((file) => {
      const text = unmask(readFileSync(join(this.folder, file), "utf8"));
      if (text === readFileSync(join(ROOT, file), "utf8")) return false;
      if (isWritten) writeFileSync(join(ROOT, file), text);
      return true;
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** As for the other sources. */
function biomeSettings(): object {
  const { formatter, linter } = JSON.parse(readFileSync(join(ROOT, "biome.json"), "utf8"));
  const ofAssembly = {
    // Integers of 64 bits are precise.
    correctness: { noPrecisionLoss: "off" },
    // `isNaN` is one of its instructions.
    // It has no imports of types alone.
    style: { ...linter.rules.style, useImportType: "off" },
    suspicious: { noDoubleEquals: { level: "error", fix: "safe" }, noGlobalIsNan: "off" },
  };
  // Functions are compiled in the order of imports, and which come first changes the code.
  return {
    formatter,
    assist: { enabled: false },
    linter: { ...linter, rules: { ...linter.rules, ...ofAssembly } },
  };
}

/** Every file with the types that AssemblyScript brings for editors: its compiler reads only what an entry reaches. */
function typeSettings(folder: string): object {
  return {
    compilerOptions: {
      target: "esnext",
      module: "esnext",
      moduleResolution: "bundler",
      noEmit: true,
      strict: true,
      allowUnreachableCode: false,
      noLib: true,
      typeRoots: [packageFile("assemblyscript/std/types")],
      types: ["assembly"],
      // What is imported from beside the folder is not copied.
      rootDirs: [join(folder, SOURCE), join(ROOT, SOURCE)],
    },
    include: ["packages"],
  };
}
