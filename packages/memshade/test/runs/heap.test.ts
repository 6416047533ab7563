import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UserError } from "../../src/ground/bytes/errors.ts";
import type { IndexIntoFrameTable } from "../../src/profile/model/indices.ts";
import { loadHeap } from "../../src/runs/heap.ts";
import { describeFrame } from "../../src/show/report/frames.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";

const picture = heapPicture("main > _Znwm  3 x 16  live 1");
let directory: string;
beforeAll(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
});
afterAll(() => {
  fs.rmSync(directory, { recursive: true });
});
const place = (name: string) => path.join(directory, name);

describe("loading a run", () => {
  it("takes its directory, its run.json, or its raw file", async () => {
    const run = writePicture(place("good"), picture);
    for (const input of [run, path.join(run, "run.json"), path.join(run, "heap.memprofraw")]) {
      const loaded = await loadHeap(input);
      expect(loaded.run).toEqual(picture.run);
      expect(loaded.profile.contexts.length).toBe(1);
      expect([...loaded.profile.contexts.site!.liveBlocks]).toEqual([1]);
    }
  });

  it("demangles the names of functions", async () => {
    const { profile } = await loadHeap(writePicture(place("mangled"), picture));
    expect(describeFrame(profile, 1 as IndexIntoFrameTable).function).toBe("operator new(unsigned long)");
  });

  it("demangles those of allocators too", async () => {
    const [module] = picture.run.modules;
    const name = "_RNvCs1234_7___rustc12___rust_alloc";
    const allocator = { how: "names", functions: [{ role: "__rust_alloc", index: 1, name }] } as const;
    const run = {
      ...picture.run,
      modules: [{ ...module!, allocator: { ...allocator, functions: [...allocator.functions] } }],
    };
    const { profile } = await loadHeap(writePicture(place("allocator"), { ...picture, run }));
    expect(profile.modules[0]!.allocator!.functions[0]!.name).toBe("__rustc::__rust_alloc");
  });

  it("takes a raw file alone", async () => {
    const run = writePicture(place("alone"), picture);
    fs.copyFileSync(path.join(run, "heap.memprofraw"), place("other.memprofraw"));
    const loaded = await loadHeap(place("other.memprofraw"));
    expect(loaded.run).toBeUndefined();
    expect([...loaded.profile.contexts.mibs.allocCount]).toEqual([3]);
  });
});

describe("what is not a run is said in one line", () => {
  const says = async (input: string) => {
    try {
      await loadHeap(input);
    } catch (error) {
      expect(error).toBeInstanceOf(UserError);
      expect((error as Error).message).not.toContain("\n");
      return (error as Error).message.replaceAll(directory, "");
    }
    throw new Error("it was taken for a run");
  };

  it("nothing there", async () => {
    expect(await says(place("nothing"))).toBe("/nothing: there is no such file or directory");
  });

  it("an empty directory, and one with runs below it", async () => {
    fs.mkdirSync(place("empty"));
    expect(await says(place("empty"))).toBe("/empty is not a memshade run: no run.json in it");
    writePicture(place("above/app.1"), picture);
    expect(await says(place("above"))).toBe(
      "/above is not a memshade run: no run.json in it (there is one in /above/app.1)",
    );
    writePicture(place("above/app.2"), picture);
    expect(await says(place("above"))).toMatch(/there are 2 runs below it, such as \/above\/app\.1\)$/);
  });

  it("a damaged run.json", async () => {
    const run = writePicture(place("damaged"), picture);
    fs.writeFileSync(path.join(run, "run.json"), "{");
    expect(await says(run)).toBe("/damaged/run.json: it is not JSON");
  });

  it("a missing, empty, foreign or damaged raw profile", async () => {
    const run = writePicture(place("raw"), picture);
    const raw = path.join(run, "heap.memprofraw");
    const bytes = fs.readFileSync(raw);
    fs.writeFileSync(raw, bytes.subarray(0, -8));
    expect(await says(run)).toBe(
      `/raw/heap.memprofraw is damaged: memprof raw header at offset 0x10: the dump says it is ${bytes.length} ` +
        `bytes long, ${bytes.length - 8} are there`,
    );
    fs.writeFileSync(raw, "PK");
    expect(await says(run)).toBe("/raw/heap.memprofraw is not a MemProf profile");
    fs.writeFileSync(raw, "");
    expect(await says(run)).toBe("/raw/heap.memprofraw is not a MemProf profile: it is empty");
    fs.writeFileSync(raw, '{ "command": "ls", "stores": [] }');
    expect(await says(run)).toContain("memshade waste-print");
    fs.rmSync(raw);
    expect(await says(run)).toBe("/raw is incomplete: heap.memprofraw is missing");
  });

  it("a run of other tools", async () => {
    const run = writePicture(place("other-tools"), { ...picture, run: { ...picture.run, tools: {} } });
    expect(await says(run)).toBe("/other-tools has no heap profile: it was recorded without the heap tool");
  });
});
