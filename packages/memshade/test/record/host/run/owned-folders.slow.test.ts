import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { makeOwnedFolder, removeLeftFolders } from "../../../../src/record/host/run/owned-folders.ts";

const SOURCE = fileURLToPath(new URL("../../../../src/record/host/run/owned-folders.ts", import.meta.url));
const KILLED = JSON.stringify({ pid: 4_194_304, host: hostname(), started: "" });
const HOUR_S = 3600;

const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;
if (!canMount)
  console.warn("SKIPPED: nothing can be mounted here: no folder is tried that cannot be removed");

describe("folders for the time of one process", () => {
  const parent = mkdtempSync(join(tmpdir(), "memshade-folders-"));
  afterAll(() => rmSync(parent, { recursive: true }));
  beforeEach(() => {
    for (const name of readdirSync(parent)) rmSync(join(parent, name), { recursive: true });
  });

  it("go when the next process comes, if theirs was killed", () => {
    const [running, killed] = [makeOwnedFolder(parent, "test"), makeOwnedFolder(parent, "test")];
    writeFileSync(join(killed, "owner"), KILLED);
    removeLeftFolders(parent, "test");
    expect([running, killed].map((folder) => existsSync(folder))).toEqual([true, false]);
  });

  it.each([
    ["no owner", (folder: string) => rmSync(join(folder, "owner"))],
    ["half of an owner's name", (folder: string) => writeFileSync(join(folder, "owner"), KILLED.slice(0, 9))],
  ])("go an hour later where they have %s: theirs was killed as it made or removed them", (_, leave) => {
    const [old, fresh] = [makeOwnedFolder(parent, "test"), makeOwnedFolder(parent, "test")];
    for (const folder of [old, fresh]) leave(folder);
    const [before, after] = [1.1, 0.9].map((hours) => Date.now() / 1000 - hours * HOUR_S);
    utimesSync(old, before!, before!);
    utimesSync(fresh, after!, after!);
    removeLeftFolders(parent, "test");
    expect([old, fresh].map((folder) => existsSync(folder))).toEqual([false, true]);
  });

  it.skipIf(!canMount)("say whose they were as long as something in them cannot be removed", () => {
    const killed = makeOwnedFolder(parent, "test");
    const inUse = ["a", "z"].map((name) => join(killed, name));
    for (const folder of inUse) mkdirSync(folder);
    writeFileSync(join(killed, "owner"), KILLED);
    const script = `import { removeLeftFolders } from "${SOURCE}"; removeLeftFolders("${parent}", "test");`;
    const mounts = inUse.map((folder) => `mount -t tmpfs none '${folder}'`).join(" && ");
    const command = `${mounts} && '${process.execPath}' --input-type=module --eval '${script}'`;
    expect(spawnSync("unshare", ["--mount", "sh", "-c", command]).status).toBe(0);
    expect(readdirSync(killed)).toContain("owner");
    // The folders that were in use are now unused.
    removeLeftFolders(parent, "test");
    expect(existsSync(killed)).toBe(false);
  });
});
