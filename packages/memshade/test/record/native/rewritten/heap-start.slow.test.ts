import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { canCompile, compileProgram, memshadeRun } from "../support/record.ts";

const hasNamespaces = spawnSync("unshare", ["--mount", "true"]).status === 0;
if (canCompile && !hasNamespaces)
  console.warn("SKIPPED: there are no mount namespaces here: no rewritten program is started");

/** Programs at a fixed address and at any address, with and without room behind the file's header. */
const KINDS = [["-no-pie"], ["-pie"], ["-no-pie", "-Wl,-z,noseparate-code"]];

describe.skipIf(!canCompile || !hasNamespaces)("a rewritten program's heap", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-heap-start-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  KINDS.forEach((options, i) => {
    const program = join(folder, `program-${i}`);
    const run = (tool: string, ...args: string[]) =>
      memshadeRun(folder, ["--quiet", "--tool", tool, "--out", join(folder, "out"), program, ...args]);

    it.each(i === 0 ? ["heap", "waste", "workingset"] : ["heap"])(
      `begins behind the program's last byte where addresses are not random, and grows to 900 MiB (${options.join(" ")}, %s)`,
      (tool) => {
        compileProgram("../rewritten/programs/heap-behind-program.c", program, options);
        const { status, stdout } = run(tool);
        expect({ status, stdout }).toEqual({ status: 0, stdout: "contiguous 1\nwritten\n" });
      },
    );

    it(`grows as far where they are random (${options.join(" ")})`, () => {
      const { status, stdout } = run("heap", "random");
      expect({ status, stdout }).toEqual({ status: 0, stdout: "contiguous 1\nwritten\n" });
    });
  });
});
