import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import {
  cacheFolder,
  compiledCodeFolder,
  keepingFolder,
} from "../../../../src/record/host/run/cache-folder.ts";
import { isOwn, isPlanted } from "../../../../src/record/host/run/own-files.ts";
import { makeOwnedFolder, removeLeftFolders } from "../../../../src/record/host/run/owned-folders.ts";
import { defaultOutTemplate } from "../../../../src/record/host/run/run-folder.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("SKIPPED: only root can make files of another user: none are refused");
const OTHER = 65_534;
const DEAD = JSON.stringify({ pid: 4_194_304, host: hostname(), started: "" });

describe.skipIf(process.platform !== "linux")("what is kept from run to run", () => {
  const top = mkdtempSync(join(tmpdir(), "memshade-own-"));
  afterAll(() => rmSync(top, { recursive: true }));
  const [home, instead] = ["home", "instead"].map((name) => join(top, name));
  const caches = cacheFolder({ env: { XDG_CACHE_HOME: home } });
  const kept = join(caches, "tables");
  const folderOf = (): string => keepingFolder("tables", instead, caches);

  beforeEach(() => {
    for (const folder of [home, instead]) rmSync(folder, { recursive: true, force: true });
    mkdirSync(home);
    mkdirSync(kept, { recursive: true, mode: 0o700 });
  });

  it("lies in folders that are the user's alone", () => {
    expect(folderOf()).toBe(kept);
    expect([home, caches, kept].every(isOwn)).toBe(true);
  });

  const levels = ["memshade", "memshade/native", "memshade/native/tables"];
  it.each(levels)("is not believed where others can write to %s", (level) => {
    for (const mode of [0o770, 0o702, 0o1777]) {
      chmodSync(join(home, level), mode);
      expect(folderOf()).toBe(join(instead, "tables"));
    }
  });

  it.skipIf(!isRoot).each([...levels, ""])(
    "is not believed where another user has %s of the caches",
    (level) => {
      chownSync(join(home, level), OTHER, OTHER);
      expect(folderOf()).toBe(join(instead, "tables"));
    },
  );

  it("lies safely in a folder for all if that lets nobody take away what is another's", () => {
    chmodSync(home, 0o1777);
    expect(folderOf()).toBe(kept);
    chmodSync(home, 0o777);
    expect(folderOf()).toBe(join(instead, "tables"));
  });

  it("may lie where a link of the user leads, and not where one of another leads", () => {
    rmSync(join(home, "memshade"), { recursive: true });
    mkdirSync(join(top, "disk/native"), { recursive: true, mode: 0o700 });
    symlinkSync(join(top, "disk"), join(home, "memshade"));
    expect(folderOf()).toBe(kept);
    chmodSync(join(top, "disk"), 0o777);
    expect(folderOf()).toBe(join(instead, "tables"));
    chmodSync(join(top, "disk"), 0o700);
  });

  it("is never Node's code in a folder that anybody can make first", () => {
    const before = process.env.XDG_CACHE_HOME;
    process.env.XDG_CACHE_HOME = home;
    try {
      expect(compiledCodeFolder()).toBe(join(home, "memshade/node"));
      chmodSync(join(home, "memshade"), 0o777);
      expect(compiledCodeFolder()).toBeUndefined();
      chmodSync(join(home, "memshade"), 0o700);
      // Node creates the folders with the permissions of the umask.
      const made = join(home, "memshade/node/v24.0.0-x64-0");
      mkdirSync(made);
      writeFileSync(join(made, "code"), "");
      for (const path of [made, join(made, "code")]) {
        chmodSync(path, 0o775);
        expect(compiledCodeFolder()).toBe(join(home, "memshade/node"));
        chmodSync(join(home, "memshade/node"), 0o755);
        expect(compiledCodeFolder()).toBeUndefined();
        chmodSync(join(home, "memshade/node"), 0o700);
        chmodSync(path, 0o700);
        if (!isRoot) continue;
        chownSync(path, OTHER, OTHER);
        expect(compiledCodeFolder()).toBeUndefined();
        chownSync(path, 0, 0);
      }
    } finally {
      if (before === undefined) delete process.env.XDG_CACHE_HOME;
      else process.env.XDG_CACHE_HOME = before;
    }
  });

  it.skipIf(!isRoot)("is no file of another user", () => {
    const file = join(kept, "file");
    writeFileSync(file, "", { mode: 0o600 });
    expect(isOwn(file)).toBe(true);
    chownSync(file, OTHER, OTHER);
    expect(isOwn(file)).toBe(false);
    expect(isOwn(join(kept, "none"))).toBe(false);
  });

  it.skipIf(!isRoot)("is left alone where a killed process of another user has left it", () => {
    const [own, others] = [makeOwnedFolder(home, "test"), makeOwnedFolder(home, "test")];
    for (const folder of [own, others]) writeFileSync(join(folder, "owner"), DEAD);
    chownSync(others, OTHER, OTHER);
    removeLeftFolders(home, "test");
    expect([own, others].map((folder) => existsSync(folder))).toEqual([false, true]);
  });

  it.skipIf(!isRoot)("are no runs in a folder that another user has made for all", () => {
    const runs = join(home, "memshade.out");
    mkdirSync(runs);
    chownSync(runs, OTHER, OTHER);
    expect(isPlanted(runs)).toBe(false);
    chmodSync(home, 0o1777);
    expect(() => defaultOutTemplate(home, "program")).toThrow(/belongs to another user/);
    chownSync(runs, 0, 0);
    expect(defaultOutTemplate(home, "program")).toBe(join(runs, "program.%p"));
  });
});
