import { describe, expect, it } from "vitest";
import { createRunSymbolizer } from "../../../src/names/symbolize/run-functions.ts";
import type { ProfileModule } from "../../../src/profile/model/heap-profile.ts";
import { heapPicture } from "../../heap-picture.ts";

const { run } = heapPicture(`
  main > lib!open        1 x 8
  main > _Znwm           1 x 8
  main > ?               1 x 8
`);
const modules: ProfileModule[] = run.modules.map(({ name, start, codeBytes, buildId }) => ({
  name,
  buildId,
  start: BigInt(start),
  end: BigInt(start) + BigInt(codeBytes),
}));
const symbolize = createRunSymbolizer(modules, run, (name) => (name === "_Znwm" ? "operator new" : name));

describe("finding the function of a PC", () => {
  it("names the function whose body holds the PC, by module", () => {
    expect(symbolize(0x110n)).toEqual([{ module: 0, wasmIndex: 10, name: "main", offset: 0x110 }]);
    expect(symbolize(0x1_0000_0110n)).toMatchObject([{ module: 1, name: "open", offset: 0x110 }]);
  });

  it("demangles names", () => {
    expect(symbolize(0x210n)).toMatchObject([{ name: "operator new", wasmIndex: 11 }]);
  });

  it("keeps the index of a function without a name", () => {
    expect(symbolize(0x310n)).toEqual([{ module: 0, wasmIndex: 12, offset: 0x310 }]);
  });

  it("keeps module and offset of a PC between functions", () => {
    expect(symbolize(0xffn)).toEqual([{ module: 0, offset: 0xff }]);
    expect(symbolize(0x400n)).toEqual([{ module: 0, offset: 0x400 }]);
  });

  it("keeps the PC itself outside of all modules", () => {
    expect(symbolize(0x8000n)).toEqual([{ offset: 0x8000 }]);
    expect(symbolize(0x5_0000_0000n)).toEqual([{ offset: 0x5_0000_0000 }]);
  });

  it("knows modules, but no functions, without a run", () => {
    const withoutRun = createRunSymbolizer(modules, undefined, (name) => name);
    expect(withoutRun(0x1_0000_0110n)).toEqual([{ module: 1, offset: 0x110 }]);
  });
});
