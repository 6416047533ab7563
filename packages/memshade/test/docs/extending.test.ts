import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { FindingKind, Found } from "../../src/explain/findings/finding-kind.ts";
import { measure } from "../../src/explain/measures/index.ts";
import { type Declared, measuresOf } from "../../src/explain/measures/measure.ts";
import { rankMeasure } from "../../src/explain/measures/ranking.ts";
import type { HeapProfile } from "../../src/profile/model/heap-profile.ts";
import type { SampleProfile } from "../../src/profile/model/sample-profile.ts";
import { profileOfPicture } from "../heap-picture.ts";
import { sampleProfileOf } from "../sample-picture.ts";
import { wat } from "../support/assemble.ts";

const SOURCE = pathToFileURL(`${fileURLToPath(new URL("../../src", import.meta.url))}/`);
const PAGE = new URL("../../../../docs/extending.md", import.meta.url);

function filesOnPage(): Map<string, string> {
  const text = readFileSync(PAGE, "utf8");
  const blocks = text.matchAll(/^`([\w/-]+\.ts)`:\n\n```ts\n(.*?)^```$/gms);
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

describe("the page about extending memshade", () => {
  it("adds a measure, which is ranked", async () => {
    const { FREED } = await importPage("explain/measures/freed.ts");
    const [freed] = measuresOf("heap", { needs: "a run" }, [FREED as Declared<HeapProfile>]);
    const heap = profileOfPicture("main > list  8 x 16  live 3\nmain > table  2 x 64  live 2");
    const { ranked, values, total } = rankMeasure(freed!, { heap })!;
    expect(ranked).toEqual([0]);
    expect([...values]).toEqual([5, 0]);
    expect(total).toBe(5);
  });

  it("adds a kind of finding", async () => {
    const page = await importPage("explain/findings/tiny.ts");
    const kind = page.tiny as FindingKind<Found & { readonly blocks: number }>;
    const heap = profileOfPicture("main > node  3000 x 4\nmain > table  1000 x 64\nmain > few  10 x 4");
    const [found, ...others] = kind.find!({ heap });
    expect(others).toEqual([]);
    expect(found!.place.path[0]!.function).toBe("node");
    expect([found!.amount, found!.part]).toEqual([3000, 3000 / 4010]);
    expect(kind.sentence(found!).after).toBe("have 8 bytes or less");
  });

  it("adds an export format", async () => {
    const { writeStackTable } = await importPage("profile/formats/stack-table/write.ts");
    const write = writeStackTable as (profile: SampleProfile, shown: number) => Iterable<string>;
    const profile = sampleProfileOf("main > each : 3\nmain > each > visit : 4");
    expect([...write(profile, 0)]).toEqual(["3\tmain > each\n", "4\tmain > each > visit\n"]);
  });

  it("adds a format of heap profiles", async () => {
    const page = await importPage("profile/formats/plain-heap/read-plain-heap.ts");
    const isPlainHeap = page.isPlainHeap as (start: string) => boolean;
    const read = page.readPlainHeap as (bytes: Uint8Array) => HeapProfile;
    const text = "plain heap 1\n64 2 main;parse\n16 1 main\n";
    expect(isPlainHeap(text)).toBe(true);
    const heap = read(new TextEncoder().encode(text));
    expect(rankMeasure(measure("left"), { heap })!.total).toBe(80);
    const damaged = new TextEncoder().encode("plain heap 1\n64 2 main\nnothing");
    expect(() => read(damaged)).toThrow("offset 0x17");
  });

  it("counts the stores of each function", async () => {
    const { weaveStores } = await importPage("record/tools/stores/weave-stores.ts");
    const { StoresSession } = await importPage("record/tools/stores/stores-session.ts");
    const { TOOL_NAMES } = await importSource("record/tools/options.ts");
    const { WEAVERS } = await importSource("record/tools/weavers.ts");
    const { SESSIONS } = await importSource("record/tools/sessions.ts");
    TOOL_NAMES.push("stores");
    Object.assign(WEAVERS, { stores: weaveStores });
    Object.assign(SESSIONS, { stores: () => new (StoresSession as new () => unknown)() });
    // Other tests may share these tables.
    onTestFinished(() => {
      TOOL_NAMES.pop();
      delete WEAVERS.stores;
      delete SESSIONS.stores;
    });

    const { profile } = await importSource("record/host/profile.ts");
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
