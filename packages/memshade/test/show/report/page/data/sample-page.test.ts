import { expect, it } from "vitest";
import { FrameRules } from "../../../../../src/explain/analyses/frames/frame-rules.ts";
import { type SampleFrame, SampleProfileBuilder } from "../../../../../src/profile/model/sample-profile.ts";
import type { PageData } from "../../../../../src/show/report/page/data/page-data.ts";
import { pageOfSamples } from "../../../../../src/show/report/page/data/sample-page.ts";

function pageOf(path: string, frames: readonly Partial<SampleFrame>[]): PageData {
  const builder = new SampleProfileBuilder({ name: "app", valueTypes: [{ type: "samples", unit: "count" }] });
  const module = builder.addModule({
    name: path.slice(path.lastIndexOf("/") + 1),
    path,
    start: 0,
    end: 4096,
  });
  const thread = builder.addThread({ pid: 1, tid: 1, name: "main" });
  const stack = frames.map((frame, index) => ({
    function: "f",
    address: 16 * index,
    module,
    inlined: false,
    ...frame,
  }));
  builder.addSample(thread, builder.stackOf(stack.reverse()), [1]);
  const read = () => undefined;
  return pageOfSamples(builder.finish(), { rules: new FrameRules(), sources: "none", read, command: [] });
}

it("says what brings names where the program has none", () => {
  const { hints } = pageOf("/usr/bin/gzip", [{ function: "0x10" }, { function: "0x20" }]).head;
  expect(hints).toHaveLength(1);
  expect(hints[0]).toMatch(/100 %.*gzip has no symbols.*--binary-path/);
});

it("does not ask for names that are there, nor for those of the system's own objects", () => {
  expect(pageOf("/usr/bin/app", [{ function: "0x10" }, { function: "load" }]).head.hints).toEqual([]);
  expect(pageOf("/usr/lib/libz.so.1", [{ function: "0x10" }]).head.hints).toEqual([]);
});

it("calls the main function main, and what libc.so has the C library's", () => {
  const page = pageOf("/usr/lib/libc.so.6", [
    { function: "__original_main" },
    { function: "_IO_doallocbuf", file: "./libio/genops.c", line: 347 },
  ]);
  expect(page.strings).toContain("main");
  expect(page.strings).not.toContain("__original_main");
  const library = page.frames.library.map((text) => (page.strings[text] === "the C library" ? 1 : 0));
  expect([...library]).toEqual([1, 1]);
});
