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
  // A member order by size takes 24 bytes of 40.
  ["sensors.cpp", "alloc", "padding", 100_000 * 16, "bytes"],
  // Each of 8 reports of 1,500 lines copies what it has for each line but the first; short texts are not followed.
  ["reports.c", "alloc", "growth", 8 * 1_481, "times"],
  // The value and the two pointers to pixels, for each pixel but the first of a frame; the line loads alpha twice, once.
  ["blend.c", "waste", "redundant", 60 * (400 * 300 - 1) * (4 + 8 + 8), "bytes"],
  // A color, a label and a texture.
  ["swarm.cpp", "waste", "cold", 8_000 * (16 + 48 + 4), "bytes"],
  ["invoices.c", "waste", "write-only", 20_000 * 64, "bytes"],
  ["spring.c", "waste", "never-read", 200_000 * 24, "bytes"],
  ["mesh.c", "waste", "never-read", 300_000 * 12, "bytes"],
  // The vector reads its first particle to fill the others, and with it a 64th of those that are followed.
  ["particles.cpp", "waste", "write-only", (50_000 * 56 * 63) / 64, "bytes"],
];

/** Programs of which a first run finds nothing, but names the line and the tools that do. */
const FURTHER = ["inbox.c", "ports.c", "mesh.c", "particles.cpp"];

/** Native programs without a problem, like the ones above. */
const SOUND = [
  "blend.c",
  "machine.c",
  "reports.c",
  "invoices.c",
  "sensors.cpp",
  "swarm.cpp",
  "arena.c",
  "words.c",
];

describe.skipIf(!canCompile)("who runs a native program", () => {
  const folder = newFolder();

  it.for(PROBLEMS)(
    "finds what is wrong with %s by the tool %s: %s",
    async ([source, tool, kind, value, unit], { expect }) => {
      const program = compile(source, folder);
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

  it.for(FURTHER)(
    "has in the last line of a first run of %s the line's part, and the tools that tell more",
    async (source, { expect }) => {
      const program = compile(source, folder);
      const { stderr } = await memshade(["run", "--out", `${program}.run`, program], { cwd: folder });
      const place = markedPlace(`native/${source}`);
      expect(stderr.trimEnd().split("\n").at(-1)).toMatch(
        new RegExp(
          `^memshade: .* % of the peak .* of \\w+ \\(${place}\\): --tool heap tells .*, --tool waste `,
        ),
      );
    },
  );

  it.for(SOUND)("is told nothing of sound/%s", async (source, { expect }) => {
    const program = compile(`sound/${source}`, folder);
    for (const tool of ["alloc", "heap", "waste"]) {
      const { stderr } = await memshade(["run", "--tool", tool, "--out", `${program}.run`, program], {
        cwd: folder,
      });
      expect(stderr).toMatch(/^memshade: (no findings among|nothing stands out)/m);
    }
  });
});

function compile(source: string, folder: string): string {
  const program = join(folder, source.replaceAll("/", "-").replace(/\.\w+$/, ""));
  const path = fileURLToPath(new URL(`native/${source}`, PLANTED));
  const compiler = source.endsWith(".c") ? ["gcc"] : ["g++", "-std=c++20"];
  execFileSync(compiler[0]!, [...compiler.slice(1), "-O1", "-g", path, "-o", program, "-lm"]);
  return program;
}
