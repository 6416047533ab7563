import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Symbolization } from "../../../src/cli/symbolize/symbolization.ts";
import { openObject } from "../../../src/code/objects/index.ts";
import { nodeDecompressors } from "../../../src/names/load/objects.ts";

export const LLVM_SYMBOLIZER = "llvm-symbolizer-22";

export function isInstalled(...commands: string[]): boolean {
  return commands.every((command) => spawnSync(command, ["--version"]).error === undefined);
}

const PROGRAMS = fileURLToPath(new URL("programs", import.meta.url));
export const ROOT = fileURLToPath(new URL("../../../../..", import.meta.url));

/** `SHF_EXECINSTR` */
const EXECUTABLE = 4;

let folder: string | undefined;

export function temporaryFolder(): string {
  folder ??= mkdtempSync(path.join(tmpdir(), "memshade-symbolize-"));
  return folder;
}

/** Runs a shell command in the temporary folder; `$P` is the folder with the programs' sources. */
export function sh(command: string): string {
  const { status, stdout, stderr } = spawnSync("sh", ["-ec", command], {
    cwd: temporaryFolder(),
    encoding: "utf8",
    env: { ...process.env, P: PROGRAMS },
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`${command}: ${stderr}`);
  return stdout;
}

/** Addresses of a file's code, one of `step`, and some outside it. */
export function codeAddresses(file: string, step: number): number[] {
  return codeSections(file)
    .flatMap(({ address, size }) =>
      Array.from({ length: Math.ceil((size + 6) / step) }, (_, index) => address - 3 + index * step),
    )
    .filter((address) => address >= 0);
}

export function sampledAddresses(file: string, count: number): number[] {
  const bytes = codeSections(file).reduce((sum, { size }) => sum + size, 0);
  return codeAddresses(file, Math.floor(bytes / count)).slice(0, count);
}

function codeSections(file: string): { address: number; size: number }[] {
  const object = openObject(readFileSync(file), nodeDecompressors);
  if (object.kind === "elf")
    return object.sections.filter(({ flags, size }) => (flags & EXECUTABLE) !== 0 && size > 0);
  return object.sections
    .filter(({ offset }) => offset === object.codeOffset)
    .map(({ size }) => ({ address: 0, size }));
}

export function llvmAnswers(
  file: string,
  addresses: readonly number[],
  options: readonly string[] = [],
): string[] {
  const { stdout } = spawnSync(LLVM_SYMBOLIZER, ["--obj", file, "--output-style=JSON", ...options], {
    input: `${addresses.map((address) => `0x${address.toString(16)}`).join("\n")}\n`,
    encoding: "utf8",
    maxBuffer: 2 ** 29,
    cwd: temporaryFolder(),
  });
  return stdout.trimEnd().split("\n");
}

export function ourAnswers(file: string, addresses: readonly number[], inlines = true): string[] {
  const symbolization = new Symbolization({
    binary: file,
    adjustment: 0,
    fileOffsets: false,
    symbolizer: { inlines },
    output: {
      style: "JSON",
      printFunctions: true,
      printAddress: false,
      pretty: false,
      verbose: false,
      contextLines: 0,
    },
  });
  return addresses.map((address) => symbolization.answer(`0x${address.toString(16)}`));
}

export function npmModule(...parts: string[]): string | undefined {
  const file = path.join(ROOT, ...parts);
  return existsSync(file) ? file : undefined;
}
