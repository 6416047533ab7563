import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isInstalled, type Workload } from "../../../../bench/harness/programs.ts";

const COMPARE = fileURLToPath(new URL("../../../../bench/harness/compare.ts", import.meta.url));

interface Comparison {
  results: Record<string, string>;
  modules: Record<string, number>[];
}

/** Runs a workload in a process of its own, plain and in variants, because packages leave global state behind. */
function compare(name: string, variants: readonly string[]): Comparison {
  const output = execFileSync(
    process.execPath,
    ["--no-warnings", COMPARE, name, "small", "plain", ...variants],
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 26 },
  );
  return JSON.parse(output.trimEnd().split("\n").at(-1) as string);
}

export function describeWorkloads(workloads: readonly Workload[], variants: readonly string[]): void {
  describe.each(workloads.map((workload) => ({ workload, name: workload.name })))(
    "$name, instrumented",
    ({ workload, name }) => {
      const installed = isInstalled(workload);
      if (!installed) console.warn(`SKIPPED: ${name} is not installed; npm ci installs the large modules`);

      it.skipIf(!installed)("gives the same results through its own JavaScript", () => {
        const { results, modules } = compare(name, variants);
        expect(results.plain).not.toMatch(/^threw/);
        for (const variant of variants) {
          expect(results[variant], variant).toBe(results.plain);
          expect(modules[0]?.[variant], `${variant} is another module`).not.toBe(modules[0]?.plain);
        }
      });
    },
  );
}
