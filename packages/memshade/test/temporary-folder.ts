import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Runs before all tests. Temporary files of the tests and their programs are in one folder, which is removed at the end. Files that
 * memshade
 * keeps from run to run are there too: the C library is rewritten once for all tests.
 */
export default function setup(): () => void {
  const before = { TMPDIR: process.env.TMPDIR, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME };
  const folder = mkdtempSync(join(tmpdir(), "memshade-tests-"));
  process.env.TMPDIR = folder;
  process.env.XDG_CACHE_HOME = join(folder, "cache");
  return () => {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    rmSync(folder, { recursive: true, force: true });
  };
}
