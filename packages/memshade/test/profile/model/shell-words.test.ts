import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { commandLine, quoteForShell } from "../../../src/profile/model/shell-words.ts";

const hasBash = spawnSync("bash", ["--version"], { stdio: "ignore" }).status === 0;
if (!hasBash) console.warn("SKIPPED: bash is not installed: no shell takes what is quoted");

const WORDS = [
  "redis-server",
  "--save",
  "",
  "two words",
  "it's",
  '"',
  "$HOME",
  "`x`",
  "*",
  "a\\b",
  "~",
  "#",
  "!",
  "a\nb",
  "tab\there",
  "bell\x07 it's \\",
  "\x1b[31m",
  "ünïcode",
  "\u0085next",
  "\u202egnp.exe",
  "=",
  "a=b",
];

describe("a command", () => {
  it("shows its empty words", () => {
    expect(commandLine(["redis-server", "--save", "", "--port", "7000"])).toBe(
      "redis-server --save '' --port 7000",
    );
  });

  it("has one line, and no control characters", () => {
    expect(commandLine(WORDS)).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(quoteForShell("a\nb'c")).toBe("$'a\\nb\\'c'");
  });

  it.skipIf(!hasBash)("is taken by a shell as it was", () => {
    const env = { ...process.env, LC_ALL: "C.UTF-8" };
    const { stdout } = spawnSync("bash", ["-c", `printf '%s\\0' ${commandLine(WORDS)}`], { env });
    expect(stdout.toString().split("\0").slice(0, -1)).toEqual(WORDS);
  });
});
