import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it } from "vitest";
import { memshade, newFolder } from "../cli/support/command-line.ts";
import { canCompile } from "../record/native/support/record.ts";
import { answers, markedPlace, PLANTED } from "./judge.ts";
import type { Amount } from "./planted.ts";

/** Native program with one problem, and the tool whose run tells it at its end. */
type NativeProblem = readonly [
  source: string,
  tool: string,
  kind: string,
  value: number,
  unit: Amount["unit"],
];

const PROBLEMS: readonly NativeProblem[] = [
  // An order, its customer and three items.
  ["orders.c", "alloc", "leak", 600, "blocks"],
  // The texts of keys are made for 600 + 40,000 questions; some short ones are in the text's own room.
  ["lookups.cpp", "alloc", "churn", 40_363, "blocks"],
  ["quotes.cpp", "alloc", "churn", 2 * 49 * 2_500, "blocks"],
  ["sparks.cpp", "alloc", "churn", 500 * 200, "blocks"],
  ["inbox.c", "heap", "over-capacity", 150 * (16_384 - 147), "bytes"],
  ["sorted.cpp", "heap", "peak", 60_000 * 16, "bytes"],
  ["ports.c", "heap", "sparse", 32_588 * 16, "bytes"],
  ["page.c", "heap", "growth", 12 * (3 * 800 - 1), "times"],
  ["grid.c", "waste", "dead", 80 * 160 * 120 * 4, "bytes"],
  ["frames.c", "waste", "dead", 100 * 96 * 96 * 3, "bytes"],
  ["totals.c", "waste", "silent", 2_000 * 299 * 8, "bytes"],
];

describe.skipIf(!canCompile)("who runs a native program", () => {
  const folder = newFolder();

  it.for(PROBLEMS)(
    "finds what is wrong with %s by the tool %s: %s",
    async ([source, tool, kind, value, unit], { expect }) => {
      const program = join(folder, source.replace(/\.\w+$/, ""));
      const path = fileURLToPath(new URL(`native/${source}`, PLANTED));
      const compiler = source.endsWith(".c") ? ["gcc"] : ["g++", "-std=c++20"];
      execFileSync(compiler[0]!, [...compiler.slice(1), "-O1", "-g", path, "-o", program, "-lm"]);
      const { stderr } = await memshade(["run", "--tool", tool, "--out", `${program}.run`, program], {
        cwd: folder,
      });
      const lines = stderr.split("\n").map((line) => line.replace(/^memshade: /, ""));
      const answer = { kinds: [kind], amounts: [{ value, unit, tolerance: 0.01 }] };
      const place = markedPlace(`native/${source}`);
      expect({ isFound: lines.some((line) => answers(line, answer, place)), stderr }).toMatchObject({
        isFound: true,
      });
    },
  );
});
