import { expect, it } from "vitest";
import type { NativeStacks } from "../../../../src/profile/model/native-stacks.ts";
import { nativeStacksText } from "../../../../src/show/report/terminal/stacks.ts";

it("texts of a dump have nothing that terminals obey", () => {
  const hostile = "\u001b]0;title\u0007\u009b31m\u202e\n";
  const name = { function: hostile, inlined: false };
  const frame = {
    pc: 16n,
    kind: "normal",
    foundBy: "registers",
    functions: [name, { ...name, file: hostile, line: 3 }],
  };
  const nameless = { ...frame, functions: [], module: hostile };
  const stacks = {
    command: hostile,
    notes: [hostile],
    missing: [{ path: hostile, reason: "was not found" }],
    threads: [{ lwp: 1, name: hostile, frames: [frame, nameless], end: "outermost" }],
  } as unknown as NativeStacks;
  const text = [...nativeStacksText(stacks)].join("");
  expect(text.match(/\]0;title/g)).toHaveLength(8);
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
});
