import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { UserError } from "../../src/bytes/errors.ts";
import {
  type Profile,
  profileFiles,
  readProfile,
  readProfileFromImage,
  watchInstance,
} from "../../src/host/loader.ts";
import { readMemoryImage } from "../../src/host/memory-image.ts";
import { instrument } from "../../src/tools/index.ts";
import { assemble, LIBRARY } from "../cli/support/programs.ts";

/** With a bound for its memory, so that the shadow memory is small. */
const ORIGINAL = assemble(LIBRARY.replace('"memory") 2', '"memory") 2 16'));
const IMPORTS = { host: { notify() {} } };
type Fill = (count: number) => number;

async function load() {
  const { bytes } = instrument(ORIGINAL, {
    name: "library.wasm",
    maxBlocks: 1000,
    maxContexts: 100,
  });
  return { bytes, ...(await WebAssembly.instantiate(bytes as BufferSource, IMPORTS)) };
}

/** Without what only a program's own memory tells. */
function withoutReach({ run, raw }: Profile): { run: unknown; raw: Uint8Array } {
  const sites = run.heap?.sites.map((site) =>
    Object.fromEntries(Object.entries(site).filter(([field]) => !/^(lost|lateLost)/.test(field))),
  );
  return {
    run: { ...run, presence: null, heap: { ...run.heap, sites, reach: null, notTracked: null } },
    raw,
  };
}

describe("the loader", () => {
  it("reads the profile of an instance as often as wanted", async () => {
    const { module, instance } = await load();
    const watched = watchInstance(instance, module, { original: ORIGINAL, program: "page" });
    (instance.exports.fill as Fill)(2);
    expect(watched.readProfile().run).toMatchObject({
      program: "page",
      end: { kind: "dump" },
      heap: { allocations: 2 },
    });
    (instance.exports.fill as Fill)(3);
    expect(watched.readProfile({ kind: "exit" }).run).toMatchObject({
      end: { kind: "exit" },
      heap: { allocations: 5 },
    });
  });

  it("makes files that a page can offer for download", async () => {
    const { module, instance } = await load();
    (instance.exports.fill as Fill)(2);
    const files = profileFiles(readProfile(instance, module));
    expect(files.map(({ name }) => name)).toEqual(["heap.memprofraw", "heapintervals.json", "run.json"]);
    expect(JSON.parse(files[2].contents as string)).toMatchObject({
      schema: "memshade-run",
      program: "library.wasm",
    });
  });

  it("reads a copy of the shadow memory, taken by a host without JavaScript", async () => {
    const { bytes, module, instance } = await load();
    (instance.exports.fill as Fill)(7);
    const { buffer } = instance.exports["memshade.memory"] as WebAssembly.Memory;
    const fromImage = readProfileFromImage(new Uint8Array(buffer), bytes, { original: ORIGINAL });
    expect(withoutReach(fromImage)).toEqual(
      withoutReach(readProfile(instance, module, { original: ORIGINAL })),
    );
    expect(fromImage.run.heap?.reach).toBeUndefined();
    expect(fromImage.run.heap?.notTracked).toEqual([
      expect.stringMatching(/^Whether 7 live blocks are lost or still reachable is not known: the copy /),
    ]);
    expect(fromImage.run.heap?.allocations).toBe(7);
    // As `readFileSync` returns files.
    const [image, rewritten] = [Buffer.from(new Uint8Array(buffer)), Buffer.from(bytes)];
    expect(readProfileFromImage(image, rewritten, { original: Buffer.from(ORIGINAL) })).toEqual(fromImage);
  });

  it("reads an image from a file, skipping what is empty", async () => {
    const { bytes, module, instance } = await load();
    (instance.exports.fill as Fill)(7);
    const { buffer } = instance.exports["memshade.memory"] as WebAssembly.Memory;
    const home = mkdtempSync(join(tmpdir(), "memshade-image-"));
    try {
      const path = join(home, "app.image");
      writeFileSync(path, new Uint8Array(buffer));
      const image = readMemoryImage(path);
      expect(withoutReach(readProfileFromImage(image, bytes))).toEqual(
        withoutReach(readProfile(instance, module)),
      );
      writeFileSync(path, new Uint8Array(1000));
      expect(() => readMemoryImage(path)).toThrow(/not the image of a memory/);
      expect(() => readMemoryImage(join(home, "gone"))).toThrow(UserError);
      expect(() => readProfileFromImage(new Uint8Array(65536), bytes)).toThrow(TypeError);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it("refuses modules that are not instrumented", async () => {
    const { instance, module } = await WebAssembly.instantiate(ORIGINAL, IMPORTS);
    expect(() => readProfile(instance, module)).toThrow(TypeError);
    expect(() => readProfile(instance, instrument(ORIGINAL).bytes)).toThrow(TypeError);
  });

  it("needs nothing of Node", () => {
    const seen = new Set<string>();
    const visit = (path: string): void => {
      if (seen.has(path)) return;
      seen.add(path);
      const text = readFileSync(path, "utf8");
      for (const [statement, from] of text.matchAll(/^(?:import|export)\b[^"';]*?from "([^"]+)"/gm)) {
        expect(`${path}: ${from}`).not.toContain(": node:");
        if (from.startsWith(".") && !/^(import|export) type\b/.test(statement))
          visit(join(dirname(path), from));
      }
    };
    visit(fileURLToPath(new URL("../../src/host/loader.ts", import.meta.url)));
    expect(seen.size).toBeGreaterThan(5);
  });
});
