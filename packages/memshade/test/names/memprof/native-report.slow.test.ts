import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memshade } from "../../cli/support/command-line.ts";
import { sharedPath } from "../../shared-path.ts";

const shared = sharedPath("fixtures/memprof");
const root = shared ?? "";
const cwd = mkdtempSync(join(tmpdir(), "memshade-native-"));
afterAll(() => rmSync(cwd, { recursive: true }));

describe.skipIf(shared === undefined)("reports of native programs", () => {
  const recorded = join(root, "cpp-inline/v5.memprofraw");
  // The raw profile without its program next to it.
  const raw = join(cwd, "alone.memprofraw");
  beforeAll(() => cpSync(recorded, raw));
  const program = join(root, "cpp-inline/v5.exe");
  const other = join(root, "c-basic/v5-static.exe");
  const indexed = join(root, "cpp-inline/v5.v4.memprofdata");

  it("say in one line which program is needed, and that another one was given", async () => {
    for (const verb of ["report", "top"]) {
      const { code, stdout, stderr } = await memshade([verb, raw, "--binary-path", other], { cwd });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(
        /there is no binary for it: its program has the build id [0-9a-f]{40}.*v5-static\.exe/,
      );
      expect(stderr.trim().split("\n")).toHaveLength(1);
    }
  });

  it("say how functions get their names where no program was given", async () => {
    const { stdout } = await memshade(["report", raw], { cwd });
    expect(stdout.replace(/\s+/g, " ")).toContain("Give the program or its folder with --binary-path");
  });

  it("find the program beside the profile, and say of another one that was given that it is of no use", async () => {
    const { stdout } = await memshade(["report", recorded, "--binary-path", other], { cwd });
    const words = stdout.replace(/\s+/g, " ");
    expect(words).toContain("are not modules of this profile");
    expect(words).toContain(`Binaries ${program}`);
    expect(words).toContain("shapes::make_node (shapes.cpp:17)");
  });

  it("take names from the binaries of a folder, also for indexed profiles and YAML", async () => {
    const folder = join(cwd, "build");
    cpSync(program, join(folder, "app"));
    writeFileSync(join(folder, "notes.txt"), "no binary");
    const { stdout: yaml } = await memshade(["show", indexed], { cwd });
    writeFileSync(join(cwd, "app.yaml"), yaml);
    for (const profile of [indexed, join(cwd, "app.yaml")]) {
      const { stdout } = await memshade(["top", profile, "--binary-path", folder], { cwd });
      expect(stdout).not.toContain("GUID");
      expect(stdout).toMatch(/SITE\n.*[A-Za-z_]+/);
    }
  });

  it("show no accesses where a profile has none, and say why it cannot be ranked by them", async () => {
    const { stdout } = await memshade(["report", indexed, "--binary-path", program], { cwd });
    expect(stdout).not.toContain("accesses/B");
    const ranked = await memshade(["top", indexed, "--by", "density"], { cwd });
    expect(ranked).toMatchObject({ code: 2, stderr: expect.stringContaining("--full-schema") });
  });
});
