import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { InstalledObjects } from "../../../src/names/load/installed-objects.ts";
import { loadObject, ObjectFinder } from "../../../src/names/load/objects.ts";
import { drawElf, drawNote } from "../../code/objects/elf-picture.ts";

const root = mkdtempSync(path.join(tmpdir(), "memshade-installed-"));
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

const idOf = (byte: number) => byte.toString(16).padStart(2, "0").repeat(20);

function install(name: string, byte: number): string {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  const content = drawNote("GNU", 3, new Uint8Array(20).fill(byte));
  writeFileSync(file, drawElf({ sections: [{ name: ".note", type: 7, content }] }));
  return file;
}

describe("objects of which the build id is all that is known", () => {
  it("are found in the folders that are named, behind files that are none", () => {
    const folder = path.join(root, "beside");
    const program = install("beside/program", 0xf1);
    writeFileSync(path.join(folder, "a-damaged-one"), "\u007fELF\u0002\u0001\u0001 and no more");
    writeFileSync(path.join(folder, "notes.txt"), "no object");
    const installed = new InstalledObjects([path.join(root, "not-there"), folder]);
    expect(installed.find(idOf(0xf1))?.path).toBe(program);
    // The search passed over the damaged file on the way to others.
    expect(installed.find(idOf(0xf9))).toBeUndefined();
    expect(installed.find(idOf(0xf1))?.path).toBe(program);
  });

  it("are found where programs and libraries are, as the environment says", () => {
    const library = install("libraries/libx.so", 0xf2);
    const program = install("programs/app", 0xf3);
    vi.stubEnv("LD_LIBRARY_PATH", `:${path.dirname(library)}`);
    vi.stubEnv("PATH", path.dirname(program));
    const installed = new InstalledObjects([]);
    expect(installed.find(idOf(0xf2))?.path).toBe(library);
    expect(installed.find(idOf(0xf3))?.path).toBe(program);
  });

  it("are taken from debuginfod's cache, as its debug information is", () => {
    const cache = path.join(root, "cache");
    const program = install(`cache/${idOf(0xf4)}/executable`, 0xf4);
    const debugFile = install(`cache/${idOf(0xf4)}/debuginfo`, 0xf4);
    vi.stubEnv("DEBUGINFOD_CACHE_PATH", cache);
    expect(new InstalledObjects([]).find(idOf(0xf4))?.path).toBe(program);
    const finder = new ObjectFinder({ debuginfodCaches: [cache] });
    expect(finder.findDebugFile(loadObject(program))?.path).toBe(debugFile);
    expect(new ObjectFinder().findDebugFile(loadObject(program))).toBeUndefined();
  });
});
