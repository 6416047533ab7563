import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** Lines of code blocks that call memshade. */
function commandsOf(page: string): string[] {
  const text = readFileSync(`${ROOT}${page}`, "utf8");
  const blocks = [...text.matchAll(/^```(?:sh)?\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);
  return blocks
    .flatMap((block) => block.split(/\n|\s{2,}(?=memshade )/))
    .map((line) => line.replace(/^\$ /, "").replace(/\s+#.*$/, ""))
    .filter((line) => /^(?:npx )?memshade [a-z]/.test(line));
}

const pages = [
  "README.md",
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: "utf8" }).map((path) => `docs/${path}`),
];
const commands = pages
  .filter((page) => page.endsWith(".md"))
  .flatMap((page) => commandsOf(page).map((line) => ({ page, line })));

const helps = new Map<string, string>();
function helpOf(verb: string): string {
  const known = helps.get(verb);
  if (known !== undefined) return known;
  const args = [`${ROOT}packages/memshade/src/cli/main.ts`, ...verb.split(" "), "--help"];
  const { stdout, status } = spawnSync(process.execPath, ["--no-warnings", ...args], { encoding: "utf8" });
  const help = status === 0 && stdout.includes(`memshade ${verb} `) ? stdout : "";
  helps.set(verb, help);
  return help;
}

/** The words of a command line that are memshade's own. */
function ownWords(line: string): { verb: string; own: readonly string[] } {
  const [first, ...rest] = line.replace(/^(?:npx )?memshade /, "").split(/\s+/);
  // A store has verbs of its own.
  const [verb, words] = first === "store" ? [`store ${rest[0]}`, rest.slice(1)] : [first!, rest];
  // What follows the program is the program's own.
  const program = ["run", "node"].includes(verb!)
    ? words.findIndex((word) => /\.(wasm|[cm]?[jt]s)$/.test(word))
    : -1;
  return { verb: verb!, own: program < 0 ? words : words.slice(0, program) };
}

/** Options that take one of several words, or some with commas, all of which the help has. */
const CHOICES = new Set(["--by", "--tool", "--group", "--format", "--host-stacks"]);

describe("commands in the documentation", () => {
  it("are found", () => {
    expect(commands.length).toBeGreaterThan(40);
  });

  it("exist, with every option that they are shown with", () => {
    const unknown = commands.flatMap(({ page, line }) => {
      const { verb, own } = ownWords(line);
      const help = helpOf(verb);
      if (help === "") return [`${page}: ${line}: no such command`];
      return own
        .map((word) => /^--[a-z0-9-]+/.exec(word)?.[0])
        .filter((option) => option !== undefined && !new RegExp(`${option}(?![a-z0-9-])`).test(help))
        .map((option) => `${page}: ${line}: ${option}`);
    });
    expect(unknown).toEqual([]);
  });

  it("are shown with choices that there are", () => {
    const unknown = commands.flatMap(({ page, line }) => {
      const { verb, own } = ownWords(line);
      const known = new Set(helpOf(verb).split(/[\s,;:()"]+/));
      return own
        .flatMap((word, at) => (CHOICES.has(word) ? (own[at + 1] ?? "nothing").split(/[,|]/) : []))
        .filter((choice) => /^[a-z]/.test(choice) && !known.has(choice))
        .map((choice) => `${page}: ${line}: ${choice}`);
    });
    expect(unknown).toEqual([]);
  });
});
