import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "../cli/support/command-line.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const README = readFileSync(`${ROOT}README.md`, "utf8");
const GUIDE = readFileSync(`${ROOT}docs/guides/npm-package.md`, "utf8");

/** Output in a code block of the README: the first line is typed, the rest is printed. */
function shown(command: string): string {
  const block = README.split("```").find((text) => text.includes(`$ npx memshade ${command}`));
  return block!.split("\n").slice(2).join("\n");
}

function withTour(lines: readonly string[]): string {
  const cwd = newFolder();
  mkdirSync(join(cwd, "memshade.out"));
  symlinkSync(`${ROOT}node_modules`, join(cwd, "node_modules"));
  writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
  writeFileSync(join(cwd, "tour.js"), lines.join("\n"));
  return cwd;
}

describe("the README's tour", () => {
  const script = /^```js\n([\s\S]*?)^```$/m.exec(README)![1]!.trimEnd().split("\n");
  const record = "node --out memshade.out/tour tour.js";

  it("prints what the README shows", async () => {
    const cwd = withTour(script);
    const recorded = await memshade(record.split(" "), { cwd });
    expect(`${recorded.stdout}${recorded.stderr}`).toBe(shown(record));
    const top = await memshade(["top", "--by", "temporary", "-n", "3"], { cwd });
    expect(`${top.stderr}${top.stdout}`).toBe(shown("top --by temporary -n 3"));
  });

  it("says what the README and the guide promise without its last two lines: the database that nobody closes", async () => {
    expect(script.slice(-2)).toEqual(["insert.free();", "database.close();"]);
    const { stderr } = await memshade(record.split(" "), { cwd: withTour(script.slice(0, -2)) });
    const promised = /`(leak [^`]*)`/.exec(README)![1]!;
    // Columns of numbers are as wide as the widest number.
    expect(stderr.replaceAll(/ +/g, " ")).toContain(`memshade: ${promised}\n`);
    expect(GUIDE).toContain(`\n${promised}\n`);
  });
});
