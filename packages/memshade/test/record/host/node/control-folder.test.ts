import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  newControlAddress,
  removeControlFolder,
  removeLeftControlFolders,
} from "../../../../src/record/host/node/control-folder.ts";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "control-")));
  vi.stubEnv("TMPDIR", home);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

describe.skipIf(process.platform === "win32")("folders of supervising processes", () => {
  it("go with their process, and those of killed ones with the next", () => {
    const own = newControlAddress();
    mkdirSync(join(home, "memshade-control-killed"));
    const killed = JSON.stringify({ pid: 2 ** 30, host: hostname(), started: "" });
    writeFileSync(join(home, "memshade-control-killed", "owner"), killed);
    removeLeftControlFolders();
    expect(existsSync(dirname(own))).toBe(true);
    expect(readdirSync(home)).toHaveLength(1);
    removeControlFolder(own);
    expect(readdirSync(home)).toEqual([]);
  });

  it("are none where there is no temporary folder: a run that needs none is not refused", () => {
    vi.stubEnv("TMPDIR", join(home, "missing"));
    expect(removeLeftControlFolders).not.toThrow();
  });
});
