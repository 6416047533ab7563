import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { addSymbolizeCommand } from "../../../src/cli/commands/symbolize.ts";
import { readSymbolizeArguments } from "../../../src/cli/symbolize/arguments.ts";

/** What commander makes of arguments. */
function readByCommander(args: readonly string[]): unknown {
  const program = new Command().exitOverride();
  addSymbolizeCommand(program);
  let read: unknown;
  program.commands[0]!.action((addresses, options) => {
    read = { addresses, options: { ...options } };
  });
  program.parse(["symbolize", ...args], { from: "user" });
  return read;
}

/** Options that the program never looks at have other names in commander. */
function known(read: unknown): unknown {
  const { addresses, options } = read as { addresses: string[]; options: Record<string, unknown> };
  const { untagAddresses: _, noUntagAddresses: __, debuginfod: ___, noDebuginfod: ____, ...rest } = options;
  return { addresses, options: rest };
}

describe("plain arguments of memshade symbolize", () => {
  it.each([
    [],
    ["-"],
    ["0x10", "-e", "app.wasm", "main+4"],
    ["--binary", "app", "--no-demangle", "0"],
    ["--obj=app", "--json", "1", "2"],
    ["--no-inlines", "--inlines", "-a", "-p", "-s", "-v"],
    ["--output-style=gnu", "--functions=short", "--demangle=false", "--inlining=true"],
    ["--adjust-vma", "0x20", "--print-source-context-lines=3", "--skip-line-zero", "--file-offsets"],
    ["--path-map", "/a=/b", "--path-map=/c=/d", "--debug-file-directory", "x", "--debug-file-directory=y"],
    ["--dwp", "app.dwp", "--cache-size=7", "--no-debuginfod", "--no-untag-addresses", "--relative-address"],
  ])("are read as commander reads them: %j", (...args) => {
    expect(known(readSymbolizeArguments(args))).toEqual(known(readByCommander(args)));
  });

  it.each([
    ["--help"],
    ["--binary"],
    ["-e"],
    ["-eapp"],
    ["-e=app"],
    ["-ap"],
    ["--functions", "short"],
    ["--functions=many"],
    ["--json=yes"],
    ["--no-such-option"],
    ["--adjust-vma=far"],
    ["--", "-1"],
    ["-1"],
  ])("are not these, which commander reads or refuses: %j", (...args) => {
    expect(readSymbolizeArguments(args)).toBeUndefined();
  });
});
