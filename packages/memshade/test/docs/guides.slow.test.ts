import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folderOfUser, type } from "./as-typed.ts";

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const GUIDES = pathOf("../../../../docs/guides/");

/** What opens pages of others has tests of its own, against a server. */
const OPENS_PAGES = /memshade browser|playwright/;
/** Its run is that of a test suite, which has a test of its own too. */
const OF_A_SUITE = "playwright-tests.md";

/** The command lines of a guide, one after the other. */
function commandsOf(guide: string): string[] {
  const text = readFileSync(`${GUIDES}${guide}`, "utf8");
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)]
    .flatMap(([, block]) => block!.trim().split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").replace(" --open", ""))
    .filter((line) => line !== "" && !OPENS_PAGES.test(line));
}

const guides = readdirSync(GUIDES).filter((guide) => guide !== OF_A_SUITE && commandsOf(guide).length > 0);

describe("the commands of a guide do what they are there for, typed one after the other", () => {
  it.each(guides)("%s", (guide) => {
    const cwd = folderOfUser();
    for (const name of ["program.wasm", "app.wasm"])
      copyFileSync(pathOf("../../demo/shop.wasm"), join(cwd, name));
    writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
    writeFileSync(
      join(cwd, "script.js"),
      `import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1" });
const { instance } = await WebAssembly.instantiate(readFileSync("program.wasm"), wasi.getImportObject());
wasi.start(instance);
`,
    );
    // What a page or another host hands over.
    type(cwd, "npx memshade run --out FOLDER app.wasm");
    for (const command of commandsOf(guide)) {
      const { status, stdout, stderr } = type(cwd, command);
      expect({ command, status, stderr: status === 0 ? "" : stderr }).toEqual({
        command,
        status: 0,
        stderr: "",
      });
      expect(`${stdout}${stderr}`.length, command).toBeGreaterThan(50);
    }
  });
});
