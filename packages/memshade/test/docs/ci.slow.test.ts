import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { SARIF, violations } from "../show/report/limits/sarif-schema.ts";
import { folderOfUser, type } from "./as-typed.ts";

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const TEXT = readFileSync(pathOf("../../../../docs/ci.md"), "utf8");
const [budget, workflow, compared] = [...TEXT.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text!);

interface Step {
  readonly run?: string;
}

/** A repository as on the page, with the demo's program. */
const cwd = folderOfUser();
for (const build of ["build", "base/build"]) {
  mkdirSync(join(cwd, build), { recursive: true });
  copyFileSync(pathOf("../../demo/shop.wasm"), join(cwd, build, "app.wasm"));
}
writeFileSync(join(cwd, "memory.yaml"), budget!);
writeFileSync(join(cwd, "leaks.supp"), "leak:nobody\n");

function runStep({ run }: Step) {
  return { run, ...type(cwd, run!, { GITHUB_STEP_SUMMARY: join(cwd, "summary.md") }) };
}

describe("the workflow in docs/ci.md", () => {
  it("runs as it is written: a limit fails in one step, and the others go on", () => {
    const steps: Step[] = parse(workflow!).jobs.memory.steps;
    const [build, record, check, sarif, ...others] = steps
      .filter(({ run }) => run !== undefined)
      .map(runStep);
    expect(others).toEqual([]);
    for (const step of [build, record, sarif]) expect(step).toMatchObject({ status: 0 });
    expect(check).toMatchObject({ status: 1, stderr: "" });
    expect(check!.stdout).toMatch(/^::error file=shop\.c,line=\d+,.*title=memshade%3A dead < 5%25::/m);
    expect(readFileSync(join(cwd, "summary.md"), "utf8")).toMatch(/^### Memory of app/);
    const written = JSON.parse(readFileSync(join(cwd, "memory.sarif"), "utf8"));
    expect(violations(written, SARIF)).toEqual([]);
    expect(written.runs[0].results.length).toBeGreaterThan(0);
  });

  it("compares with the branch that a change is for: the same program keeps all limits", () => {
    const steps: Step[] = parse(compared!);
    for (const step of steps.filter(({ run }) => run !== undefined).map(runStep))
      expect(step).toMatchObject({ status: 0 });
  });
});
