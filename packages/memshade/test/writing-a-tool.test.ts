import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { wat } from "./support/assemble.ts";

const SOURCE = pathToFileURL(`${fileURLToPath(new URL("../src", import.meta.url))}/`);
const PAGE = new URL("../../../docs/writing-a-tool.md", import.meta.url);

/** The files of the tool on the page, by their paths below src/. */
function filesOnPage(): Map<string, string> {
  const text = readFileSync(PAGE, "utf8");
  const blocks = text.matchAll(/^`(tools\/[\w/-]+\.ts)`:\n\n```ts\n(.*?)^```$/gms);
  return new Map([...blocks].map(([, path, code]) => [path!, code!]));
}

const folder = mkdtempSync(join(tmpdir(), "memshade-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Imports a file of the page as if it were below src/. */
async function importPage(path: string): Promise<Record<string, unknown>> {
  const code = filesOnPage()
    .get(path)!
    .replaceAll(/from "(\.[^"]*)"/g, (_, target) => `from "${new URL(target, new URL(path, SOURCE)).href}"`);
  const file = join(folder, `${path.replaceAll("/", "-").replace(/\.ts$/, "")}.mts`);
  writeFileSync(file, code);
  return import(/* @vite-ignore */ pathToFileURL(file).href);
}

const importSource = (path: string) => import(/* @vite-ignore */ new URL(path, SOURCE).href);

const PROGRAM = `(module
  (memory 1)
  (func $fill (param i32)
    (i32.store (local.get 0) (i32.const 1))
    (i32.store8 (local.get 0) (i32.const 2)))
  (func $look (drop (i32.load (i32.const 0))))
  (func (export "run")
    (call $look)
    (call $fill (i32.const 8))
    (call $fill (i32.const 16))
    (call $fill (i32.const 24))))`;

describe("the tool on the page about writing tools", () => {
  it("counts the stores of each function", async () => {
    expect(filesOnPage().size).toBe(2);
    const { weaveStores } = await importPage("tools/stores/weave-stores.ts");
    const { StoresSession } = await importPage("tools/stores/stores-session.ts");
    const { TOOL_NAMES } = await importSource("tools/options.ts");
    const { WEAVERS } = await importSource("tools/weavers.ts");
    const { SESSIONS } = await importSource("tools/sessions.ts");
    TOOL_NAMES.push("stores");
    Object.assign(WEAVERS, { stores: weaveStores });
    Object.assign(SESSIONS, { stores: () => new (StoresSession as new () => unknown)() });
    // Other tests may share these tables.
    onTestFinished(() => {
      TOOL_NAMES.pop();
      delete WEAVERS.stores;
      delete SESSIONS.stores;
    });

    const { profile } = await importSource("host/profile.ts");
    const { toolFiles } = await profile(
      wat(PROGRAM),
      async (instantiate: () => Promise<WebAssembly.Instance>) =>
        ((await instantiate()).exports.run as () => void)(),
      { tools: ["stores"], name: "page.wasm" },
    );
    expect(toolFiles[0].name).toBe("stores.json");
    expect(JSON.parse(toolFiles[0].contents).functions).toEqual([
      { module: "page.wasm", function: "fill", stores: 6 },
    ]);
  });
});
