import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import vm from "node:vm";
import { describe, expect, it, vi } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import {
  type Profile,
  profileFiles,
  readProfile,
  readProfileFromImage,
  watchInstance,
} from "../../../src/record/host/loader.ts";
import { readMemoryImage } from "../../../src/record/host/memory-image.ts";
import { instrument } from "../../../src/record/tools/index.ts";
import { assemble, LIBRARY } from "../../cli/support/programs.ts";

/** A memory with a maximum keeps the shadow memory small. */
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

function members(of: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.getOwnPropertyNames(of).map((name) => [name, (of as Record<string, unknown>)[name]]),
  );
}

/** Removes the figures that only a program's own memory can give. */
function withoutReach({ run, raw }: Profile): { run: unknown; raw: Uint8Array } {
  const sites = run.heap?.sites.map((site) =>
    Object.fromEntries(Object.entries(site).filter(([field]) => !/^(lost|lateLost)/.test(field))),
  );
  return {
    run: {
      ...run,
      presence: null,
      bounds: null,
      files: { ...run.files, retainers: null },
      heap: { ...run.heap, sites, reach: null, notTracked: null },
    },
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

  it("works where no module is compiled while the program runs, and says what is missing there", async () => {
    const { module, instance } = await load();
    function Refused(): never {
      throw new WebAssembly.CompileError("Wasm code generation disallowed by embedder");
    }
    vi.resetModules();
    vi.stubGlobal("WebAssembly", { ...members(WebAssembly), Module: Refused });
    const loader = await import("../../../src/record/host/loader.ts");
    vi.unstubAllGlobals();
    // Later tests of this process need modules with the engine's own functions.
    vi.resetModules();
    (instance.exports.fill as Fill)(2);
    const { run } = loader.readProfile(instance, module, { original: ORIGINAL });
    expect(run.heap?.allocations).toBe(2);
    expect(run.notTracked).toContain(
      "the host compiles no modules while it runs: nobody is asked who called, there is no clock, and tables that are full stay full",
    );
  });

  it("is loaded where scripts have no address", async () => {
    // The script is written as bundlers write it: no module, no address.
    const { rolldown } = await import("rolldown");
    const bundle = await rolldown({
      input: fileURLToPath(new URL("../../../src/record/host/loader.ts", import.meta.url)),
      platform: "neutral",
      logLevel: "silent",
    });
    const { output } = await bundle.generate({ format: "iife", name: "loader" });
    const context = vm.createContext({ TextDecoder, TextEncoder, URL, performance });
    expect(vm.runInContext(`${output[0].code}; Object.keys(loader)`, context)).toContain("readProfile");
  });

  it("makes files that a page can offer for download", async () => {
    const { module, instance } = await load();
    (instance.exports.fill as Fill)(2);
    const files = profileFiles(readProfile(instance, module));
    expect(files.map(({ name }) => name)).toEqual([
      "heap.memprofraw",
      "heapintervals.json",
      "retainers.json",
      "run.json",
    ]);
    expect(JSON.parse(files[3].contents as string)).toMatchObject({
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
    expect(fromImage.run.bounds).toEqual([
      { figures: ["lost"], are: "least", because: "whether some live blocks are lost is not known" },
    ]);
    expect(fromImage.run.heap?.allocations).toBe(7);
    // `readFileSync` returns files in this form.
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
    visit(fileURLToPath(new URL("../../../src/record/host/loader.ts", import.meta.url)));
    expect(seen.size).toBeGreaterThan(5);
  });
});
