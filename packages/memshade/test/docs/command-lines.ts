import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

export interface ShownCommand {
  readonly page: string;
  readonly line: string;
  readonly words: readonly string[];
}

export const PAGES: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "bench/README.md",
  "packages/memshade/README.md",
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => `docs/${path}`),
];

/** All command lines of a page: in blocks, in text, and in tables. */
export function commandsOfPage(page: string): ShownCommand[] {
  const text = readFileSync(`${ROOT}${page}`, "utf8");
  const inBlocks = [...text.matchAll(/^( *)```.*\n([\s\S]*?)^\1```$/gm)].flatMap(([, , block]) =>
    linesOf(block!),
  );
  const prose = text.replace(/^( *)```[\s\S]*?^\1```$/gm, "").replaceAll("\\|", "|");
  const indented = linesOf([...prose.matchAll(/^ {4}(.*)$/gm)].map(([, line]) => line!).join("\n"));
  const inline = [...prose.matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)].map(([, code]) =>
    code!.replace("\n", " "),
  );
  return [...inBlocks, ...indented, ...inline].flatMap((line) => commandsOfLine(page, line));
}

export function commandsOfHelp(verb: string, help: string): ShownCommand[] {
  const [, examples = ""] = /^Examples:\n((?: {2}.*\n)+)/m.exec(`${help}\n`) ?? [];
  return linesOf(examples).flatMap((line) => commandsOfLine(`memshade ${verb} --help`, line));
}

/** Lines of a block. Continued lines are joined, also inside quotes; comments behind commands are removed. */
function linesOf(block: string): string[] {
  return block
    .replaceAll(/\s*\\\n\s*/g, " ")
    .replace(/^.*memshade [^"\n]*"[^"\n]*\n[^"]*"/gm, (command) => command.replaceAll(/\s*\n\s*/g, " "))
    .split(/\n| {2,}(?=memshade )/)
    .map((line) => line.trim().split(/ {2,}/)[0]!);
}

function commandsOfLine(page: string, line: string): ShownCommand[] {
  const found: ShownCommand[] = [];
  for (const part of partsOf(line.replace(/^\s*\$ /, "").replace(/(^|\s)#.*$/, ""))) {
    const words = part[0] === "npx" ? part.slice(1) : part;
    if (words[0] === "memshade" && words.length > 1)
      found.push({ page, line: line.trim(), words: words.slice(1) });
  }
  return found;
}

/** Commands of a line, each as words, without redirections. */
function partsOf(line: string): string[][] {
  const parts: string[][] = [[]];
  for (const [token] of line.matchAll(/(?:[^\s"'|&;<>]|"[^"]*"|'[^']*')+|\|\|?|&&|;|[<>&]+/g))
    if (/^(?:\||&|;)/.test(token)) parts.push([]);
    else parts.at(-1)!.push(token.replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  return parts.map((words) => {
    const redirected = words.findIndex((word) => /^[<>]/.test(word));
    return redirected < 0 ? words : words.slice(0, redirected);
  });
}
