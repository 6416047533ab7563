import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { addUnwindCommand } from "../../src/cli/commands/unwind.ts";
import { readPlainArguments } from "../../src/cli/plain-arguments.ts";
import { UNWIND_OPTIONS } from "../../src/cli/unwind/options.ts";

/** What commander makes of arguments. */
function readByCommander(args: readonly string[]): unknown {
  const program = new Command().exitOverride();
  addUnwindCommand(program);
  let read: unknown;
  program.commands[0]!.action((input, options) => {
    read = { operands: [input], options: { ...options } };
  });
  program.parse(["unwind", ...args], { from: "user" });
  return read;
}

describe("plain arguments of memshade unwind", () => {
  it.each([
    ["core"],
    ["-"],
    ["perf.data", "--addresses", "--max-frames", "20"],
    ["core", "--regs", "--format=json", "--no-frame-pointers", "--scan"],
    ["--binary-path", "a", "--binary-path=b", "core", "--sysroot", "/mnt", "-o", "out.txt"],
    ["--stats", "lib.so", "--debug-file-directory", "x", "-n", "7", "--wide", "--samples"],
  ])("are read as commander reads them: %j", (...args) => {
    expect(readPlainArguments(UNWIND_OPTIONS, args)).toEqual(readByCommander(args));
  });

  it.each([
    ["core", "--help"],
    ["core", "--format", "xml"],
    ["core", "--nonsense"],
    ["core", "--max-frames", "0"],
  ])("leave to commander what it knows better: %j", (...args) => {
    expect(readPlainArguments(UNWIND_OPTIONS, args)).toBeUndefined();
  });
});
