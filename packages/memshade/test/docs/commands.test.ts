import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { commandsOfHelp, commandsOfPage, PAGES, type ShownCommand } from "./command-lines.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

const OPTIONS_OF_OTHERS = new Set(
  `--memory --no-inline --call-graph --raw --enable-source-maps --target --cap-add --run-libc-freeres --filter-markup --no-wasm-opt
  --strip-all --profiling-funcs --profiling --keep-debug --debug --pool --no-strip-wasm --data-binary --write`.split(
    /\s+/,
  ),
);

const all = await createProgram([]);
const commands = [all, ...withoutParents(all)];

function withoutParents(command: Command): Command[] {
  return command.commands.flatMap((inner) => [inner, ...withoutParents(inner)]);
}

function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
  });
  command.outputHelp();
  return help;
}

const shown = PAGES.flatMap(commandsOfPage);
const examples = commands.flatMap((command) => commandsOfHelp(command.name(), helpOf(command)));

/** Pages name commands without arguments and options without values; `…` and KEY are placeholders. */
const LEAVES_OUT =
  /^commander\.(?:missingArgument|missingMandatoryOptionValue|optionMissingArgument|help|helpDisplayed|version)$/;

/** Error of a command line that is parsed but not executed; undefined if there is none. */
async function refusal({ page, line, words }: ShownCommand): Promise<string | undefined> {
  const args = words.filter((word) => word !== "…").map((word) => word.replace(/^\[(.*)\]$/, "$1"));
  const program = await createProgram(args);
  for (const command of [program, ...withoutParents(program)]) {
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });
    command.action(() => {});
    // The hooks would replace this process's streams by the command's.
    Object.assign(command, { _lifeCycleHooks: {} });
  }
  try {
    await program.parseAsync(args, { from: "user" });
    return undefined;
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    return LEAVES_OUT.test(code) || /not "KEY"(?:; most like it .*)?$/.test(message)
      ? undefined
      : `${page}: ${line}: ${message}`;
  }
}

async function refused(lines: readonly ShownCommand[]): Promise<string[]> {
  const refusals: string[] = [];
  for (const line of lines) {
    const found = await refusal(line);
    if (found !== undefined) refusals.push(found);
  }
  return refusals;
}

describe("commands in the documentation", () => {
  it("are found", () => {
    expect(shown.length).toBeGreaterThan(300);
    expect(examples.length).toBeGreaterThan(100);
  });

  it("are accepted by the command line, with every option and choice shown", async () => {
    expect(await refused(shown)).toEqual([]);
  });

  it("are accepted by the command line, and so are the examples of --help", async () => {
    expect(await refused(examples)).toEqual([]);
  });

  it("name only options that exist", () => {
    const known = new Set(["--help", ...commands.flatMap(({ options }) => options.map(({ long }) => long))]);
    const unknown = PAGES.filter((page) => page.startsWith("docs/") || page === "README.md").flatMap((page) =>
      [...readFileSync(`${ROOT}${page}`, "utf8").matchAll(/`([^`\n]+)`/g)]
        .flatMap(([, code]) => code!.match(/(?<![\w-])--[a-z][a-z0-9-]*/g) ?? [])
        .filter((option) => !known.has(option) && !OPTIONS_OF_OTHERS.has(option))
        .map((option) => `${page}: ${option}`),
    );
    expect(unknown).toEqual([]);
  });
});
