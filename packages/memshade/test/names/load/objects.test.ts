import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import { loadObject, ObjectFinder } from "../../../src/names/load/objects.ts";
import { NativeFile } from "../../../src/names/stacks/native-file.ts";
import { drawElf, drawNote } from "../../code/objects/elf-picture.ts";

const root = mkdtempSync(path.join(tmpdir(), "memshade-objects-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Writes an object whose build id is one byte repeated eight times, and returns its path. */
function write(name: string, id: number, content = "", link?: { name: string; crc32: number }): string {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  const buildId = { name: ".note", type: 7, content: drawNote("GNU", 3, new Uint8Array(8).fill(id)) };
  const comment = { name: ".comment", type: 1, content: new TextEncoder().encode(content) };
  const debugLink = link && {
    name: ".gnu_debuglink",
    type: 1,
    content: new ByteWriter()
      .bytes(new TextEncoder().encode(link.name))
      .bytes(new Uint8Array(4 - (link.name.length % 4)))
      .u32(link.crc32)
      .finish(),
  };
  const sections = [...(id === 0 ? [] : [buildId]), comment, ...(debugLink ? [debugLink] : [])];
  const bytes = drawElf({ sections });
  writeFileSync(file, bytes);
  return file;
}

const idOf = (id: number) => id.toString(16).padStart(2, "0").repeat(8);

describe("objects of a core or profile are found", () => {
  const right = write("bin/app", 1);
  write("old/app", 2);
  const renamed = write("bin/deep/app-1.2", 3);
  const inSysroot = write("sysroot/usr/lib/libx.so", 4);
  const byId = write("store/.build-id/05/05050505050505", 5);

  it("by base name below a binary path", () => {
    const finder = new ObjectFinder({ binaryPaths: [path.join(root, "bin")] });
    expect(finder.find({ path: "/opt/app" })).toMatchObject({ path: right });
    expect(finder.find({ path: "/opt/other" })).toEqual({ missing: "was not found" });
    expect(new ObjectFinder({ binaryPaths: [right] }).find({ path: "/opt/app" })).toMatchObject({
      path: right,
    });
  });

  it("in a file that the user named, whatever it is called, by its build id", () => {
    const finder = new ObjectFinder({ binaryPaths: [renamed] });
    expect(finder.find({ path: "/opt/app", buildId: idOf(3) })).toMatchObject({ path: renamed });
    expect(finder.find({ path: "/opt/app", buildId: idOf(4) })).toEqual({ missing: "was not found" });
    expect(finder.find({ path: "/opt/app" })).toEqual({ missing: "was not found" });
  });

  it("by the name alone that a library was linked by, where libraries lie", () => {
    const library = write("system/usr/lib/x86_64-linux-gnu/liby.so.1", 6);
    const finder = new ObjectFinder({ sysroot: path.join(root, "system") });
    expect(finder.find({ path: "liby.so.1", buildId: idOf(6) })).toMatchObject({ path: library });
    expect(finder.find({ path: "liby.so.1" })).toEqual({ missing: "was not found" });
  });

  it("by the first 16 bytes of their build id, which is all that a GUID has of it", () => {
    const long = (id: number) => idOf(id).repeat(2).slice(0, 32);
    const file = path.join(root, "guid/app");
    mkdirSync(path.dirname(file), { recursive: true });
    const note = { name: ".note", type: 7, content: drawNote("GNU", 3, new Uint8Array(20).fill(7)) };
    writeFileSync(file, drawElf({ sections: [note] }));
    const stored = path.join(root, "guids/.build-id/07", `${long(7).slice(2)}07070707`);
    mkdirSync(path.dirname(stored), { recursive: true });
    writeFileSync(stored, drawElf({ sections: [note] }));
    const find = (place: string, name: string, id: number) =>
      new ObjectFinder({ binaryPaths: [path.join(root, place)] }).find({ path: name, buildId: long(id) });
    expect(find("guid", "/opt/app", 7)).toMatchObject({ path: file });
    expect(find("guid", "/opt/renamed", 7)).toMatchObject({ path: file });
    expect(find("guids", "/opt/app", 7)).toMatchObject({ path: stored });
    expect(find("guid", "/opt/app", 8)).toEqual({
      missing: `was found as ${file}, which is another build`,
    });
  });

  it("not by names that no file can have", () => {
    const finder = new ObjectFinder({ binaryPaths: [root] });
    const missing = { missing: "was not found" };
    expect(finder.find({ path: "/bin/\0app", buildId: idOf(1) })).toMatchObject({ path: right });
    expect(finder.find({ path: "/bin/\0app", buildId: idOf(99) })).toEqual(missing);
    expect(finder.find({ path: "x".repeat(10_000), buildId: "ab".repeat(10_000) })).toEqual(missing);
  });

  it("only if they are the same build", () => {
    const old = path.join(root, "old");
    const wanted = { path: "/opt/app", buildId: idOf(1) };
    expect(new ObjectFinder({ binaryPaths: [old] }).find(wanted)).toEqual({
      missing: `was found as ${old}/app, which is another build`,
    });
    const both = new ObjectFinder({ binaryPaths: [old, path.join(root, "bin")] });
    expect(both.find(wanted)).toMatchObject({ path: right });
  });

  it("only if they are for the same machine", () => {
    const finder = new ObjectFinder({ binaryPaths: [path.join(root, "bin")] });
    expect(finder.find({ path: "/opt/app", architecture: "aarch64" })).toEqual({
      missing: `was found as ${right}, which is for another machine`,
    });
  });

  it("by build id under another name", () => {
    const finder = new ObjectFinder({ binaryPaths: [path.join(root, "bin"), path.join(root, "store")] });
    expect(finder.find({ path: "/opt/app", buildId: idOf(3) })).toMatchObject({ path: renamed });
    expect(finder.find({ path: "/opt/gone", buildId: idOf(5) })).toMatchObject({ path: byId });
  });

  it("below a sysroot", () => {
    const finder = new ObjectFinder({ sysroot: path.join(root, "sysroot") });
    expect(finder.find({ path: "/usr/lib/libx.so" })).toMatchObject({ path: inSysroot });
    expect(finder.find({ path: "/bin/sh" })).toEqual({ missing: "was not found" });
  });
});

describe("what perf keeps of a recording", () => {
  it("has objects by their build id, and the kernel's library, which is no file", () => {
    const copy = write("home/.debug/.build-id/08/08080808080808/elf", 8);
    const kept = write("home/.debug/.build-id/09/09090909090909/vdso", 9);
    vi.stubEnv("HOME", path.join(root, "home"));
    onTestFinished(() => void vi.unstubAllEnvs());
    const finder = new ObjectFinder();
    expect(finder.find({ path: "/gone/app", buildId: idOf(8) })).toMatchObject({ path: copy });
    expect(finder.find({ path: "[vdso]", buildId: idOf(9) })).toMatchObject({ path: kept });
    expect(new NativeFile("[vdso]", idOf(9), finder).found?.path).toBe(kept);
    // The vDSO has no file, so its absence is no failure.
    const other = new NativeFile("[vdso]", idOf(10), finder);
    expect([other.found, other.missing]).toEqual([undefined, undefined]);
  });
});

describe("the file with the debug information is found", () => {
  it("by build id", () => {
    const app = loadObject(write("prog/app", 7));
    const debugFile = write("debug/.build-id/07/07070707070707.debug", 7, "debug information");
    const places = { debugDirectories: [path.join(root, "debug")] };
    expect(new ObjectFinder(places).findDebugFile(app)?.path).toBe(debugFile);
    expect(new ObjectFinder().findDebugFile(app)).toBeUndefined();
  });

  it("by link, if the checksum is right", () => {
    const debugFile = write("linked/.debug/app.debug", 0, "debug information");
    const sum = crc32(readFileSync(debugFile));
    const app = loadObject(write("linked/app", 0, "", { name: "app.debug", crc32: sum }));
    expect(new ObjectFinder().findDebugFile(app)?.path).toBe(debugFile);
    const other = loadObject(write("linked/other", 0, "", { name: "app.debug", crc32: sum + 1 }));
    expect(new ObjectFinder().findDebugFile(other)).toBeUndefined();
  });
});

describe("what is not an object", () => {
  it("is refused in one line", () => {
    const file = path.join(root, "text");
    writeFileSync(file, "text");
    expect(() => loadObject(file)).toThrow(/text: .*neither ELF nor wasm/);
    expect(() => loadObject(root)).toThrow("is a directory");
    expect(() => loadObject(path.join(root, "nothing"))).toThrow("there is no such file");
  });
});
