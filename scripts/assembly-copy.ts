// A copy of the AssemblyScript sources that TypeScript tools can read: decorators of functions and constants, and the names of the modules
// that they are imported from, become comments, because TypeScript does not have them.
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packageFile, ROOT } from "./tools.ts";

const SOURCE = "packages/memshade/src";
const DECORATOR = /^@(\w+(?:\([^)\n]*\))?)[ \t\n]+/gm;
const MASKED_DECORATOR = /^\/\*@(\w+(?:\([^)\n]*\))?)\*\/\n/gm;
const MODULE = /^declare module "\w+";$/gm;
const MASKED_MODULE = /^\/\/ (declare module "\w+";)$/gm;

/** Decorators as comments, each on a line of its own. */
const mask = (text: string) => text.replaceAll(DECORATOR, "/*@$1*/\n").replaceAll(MODULE, "// $&");
const unmask = (text: string) => text.replaceAll(MASKED_DECORATOR, "@$1\n").replaceAll(MASKED_MODULE, "$1");

export class AssemblyCopy {
  /** Folder of the copy, with the repository's paths, `biome.json` and `tsconfig.json`. */
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

  /** Files that differ from the corrected copy. `isWritten`: writes the corrections back. */
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

/** Settings of the other sources, with exceptions. */
function biomeSettings(): object {
  const { formatter, linter } = JSON.parse(readFileSync(join(ROOT, "biome.json"), "utf8"));
  const ofAssembly = {
    // 64-bit integers are exact in AssemblyScript.
    correctness: { noPrecisionLoss: "off" },
    // `isNaN` is an instruction in AssemblyScript, and there are no type-only imports.
    style: { ...linter.rules.style, useImportType: "off" },
    suspicious: { noDoubleEquals: { level: "error", fix: "safe" }, noGlobalIsNan: "off" },
  };
  // Functions are compiled in the order of imports, so sorting imports would change the code.
  return {
    formatter,
    assist: { enabled: false },
    linter: { ...linter, rules: { ...linter.rules, ...ofAssembly } },
  };
}

/** Settings for all files, with the types that AssemblyScript provides for editors; its compiler reads only files that an entry reaches. */
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
      // Imports from outside the folder are not copied.
      rootDirs: [join(folder, SOURCE), join(ROOT, SOURCE)],
    },
    include: ["packages"],
  };
}
