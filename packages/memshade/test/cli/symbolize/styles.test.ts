import { expect, it } from "vitest";
import {
  formatData,
  formatFrames,
  formatVariables,
  type OutputOptions,
} from "../../../src/cli/symbolize/symbolization.ts";
import { perfSampleText } from "../../../src/show/report/terminal/stacks.ts";

const HOSTILE = "f\n::error file=x,line=1::it is said";
const request = { module: "app", address: "0x10" };

it("lines of answers begin with nothing that a name has behind an end of line", () => {
  const frame = { function: HOSTILE, file: HOSTILE, startFile: HOSTILE, startLine: 1, line: 2, column: 3 };
  const frames = [{ ...frame, discriminator: 0, inlined: false }];
  const variable = { functionName: HOSTILE, name: HOSTILE, file: HOSTILE, line: 1 };
  const symbol = { name: HOSTILE, file: HOSTILE, address: 16, size: 1 };
  for (const style of ["LLVM", "GNU"] as const)
    for (const verbose of [false, true]) {
      const options: OutputOptions = {
        style,
        verbose,
        printFunctions: true,
        printAddress: true,
        pretty: false,
        contextLines: 0,
        unknownStart: "??",
        sourceOf: () => undefined,
      };
      const text = [
        formatFrames(request, frames, options),
        formatData(request, symbol, undefined, options),
        formatVariables(request, [variable as never], options),
      ].join("");
      expect(text.match(/::error/g)!.length).toBeGreaterThan(5);
      expect(text).not.toMatch(/^::error/m);
    }
});

it("samples of perf have lines of their own alone", () => {
  const place = { shownAddress: 16, object: HOSTILE, shownSymbol: { name: HOSTILE, offset: 1 } };
  const kernel = { address: "ffffffff81000000", symbol: { name: HOSTILE, offset: 1 }, module: HOSTILE };
  const sample = { threadName: HOSTILE, tid: 1, time: 1e9, event: 0, kernel: [kernel], frames: [place] };
  const text = perfSampleText(sample as never, { events: [{ name: "cpu-clock" }] } as never);
  expect(text.match(/::error/g)).toHaveLength(5);
  expect(text).not.toMatch(/^::error/m);
});
