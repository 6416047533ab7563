import { describe, expect, it } from "vitest";
import { INSTRUMENTED, runWasi, type WasiRun } from "./fixtures.ts";

interface Case {
  args?: string[];
  stdin?: string;
}

const LINES = Array.from({ length: 500 }, (_, i) => `${"word ".repeat(i % 9)}${i}`).join("\n");

const CASES: Record<string, Case[]> = {
  "kernels/matrix": [{ args: ["48", "4"] }],
  "kernels/stencil": [{ args: ["48", "10"] }],
  "kernels/graph": [{ args: ["1000", "4"] }],
  "kernels/bintree": [{ args: ["8"] }],
  "kernels/hashmap": [{ args: ["10000"] }],
  "kernels/stl": [{ args: ["1000"] }],
  "kernels/parser": [{ args: ["100", "2"] }],
  "kernels/simd": [{ args: ["64", "8"] }],
  "kernels/floyd": [{ args: ["48", "1"] }],
  "kernels/core": [{ args: ["20"] }],
  "kernels/pair": [{ args: ["1000"] }, { args: ["5000", "100"] }],
  "allocation/c-functions": [{}],
  "allocation/c-functions.stripped": [{}],
  "allocation/new-delete": [{}],
  "allocation/new-delete.mangled": [{}],
  "allocation/lifecycle": [{}],
  "allocation/lifecycle.stripped": [{}],
  "allocation/accesses": [{}],
  "allocation/arena": [{}],
  "allocation/rust-collections": [{}, { args: ["panic"] }],
  "control/recursion": [{ args: ["200"] }, { args: ["3000"] }],
  "control/indirect": [{}],
  "control/echo": [{}, { stdin: "one line" }, { stdin: LINES }],
  "control/output": [{}],
  "control/grow": [{}],
  "control/bulk": [{}],
  "control/tail": [{}],
  "control/atomics": [{}],
  "control/stack": [{}],
  "control/exceptions": [{}, { args: ["uncaught"] }],
  "control/exceptions-exnref": [{}, { args: ["uncaught"] }],
  "control/endings": [
    ...["return", "exit", "quick"].flatMap((how) => [{ args: [how, "0"] }, { args: [how, "42"] }]),
    ...["abort", "assert", "unreachable", "bounds", "divide", "overflow", "truncate"].map((how) => ({
      args: [how],
    })),
    ...["signature", "null-call", "table", "stack", "recursion", "big-copy"].map((how) => ({ args: [how] })),
  ],
};

describe.each(Object.keys(CASES))("%s, instrumented", (path) => {
  const cases = CASES[path] as Case[];
  const run = (variant: Parameters<typeof runWasi>[1]): WasiRun[] =>
    cases.map(({ args = [], stdin = "" }) =>
      runWasi(path, variant, { args, stdin: new TextEncoder().encode(stdin) }),
    );
  let plain: WasiRun[] | undefined;

  it.each(INSTRUMENTED)("prints, returns and traps as it does plain (%s)", (variant) => {
    plain ??= run("plain");
    expect(run(variant)).toEqual(plain);
  });
});

describe("the programs themselves", () => {
  it("end in the ways they were asked to", () => {
    const endings = Object.fromEntries(
      (CASES["control/endings"] as Case[]).map(({ args = [] }) => {
        const { end } = runWasi("control/endings", "plain", { args });
        return [args.join(" "), end.kind === "exit" ? `exit ${end.exitCode}` : end.message];
      }),
    );
    expect(endings).toEqual({
      "return 0": "exit 0",
      "return 42": "exit 42",
      "exit 0": "exit 0",
      "exit 42": "exit 42",
      "quick 0": "exit 0",
      "quick 42": "exit 42",
      abort: "unreachable",
      assert: "unreachable",
      unreachable: "unreachable",
      bounds: "memory access out of bounds",
      divide: "divide by zero",
      overflow: "divide result unrepresentable",
      truncate: "float unrepresentable in integer range",
      signature: "null function or function signature mismatch",
      "null-call": "null function or function signature mismatch",
      table: "table index is out of bounds",
      stack: "memory access out of bounds",
      recursion: "Maximum call stack size exceeded",
      "big-copy": "memory access out of bounds",
    });
  });

  it("let an exception out of the module when nobody catches it", () => {
    const { end } = runWasi("control/exceptions", "plain", { args: ["uncaught"] });
    expect(end.kind).toBe("exception");
  });

  it("fill the memory to the limit that they were linked with", () => {
    expect(runWasi("control/grow", "plain")).toMatchObject({
      memoryBytes: 16 * 2 ** 20,
      end: { kind: "exit", exitCode: 0 },
    });
  });
});
