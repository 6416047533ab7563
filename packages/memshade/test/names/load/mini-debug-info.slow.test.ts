import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { decompressXz, loadMiniDebugInfo } from "../../../src/names/load/mini-debug-info.ts";
import { drawElf } from "../../code/objects/elf-picture.ts";

describe("mini debug information", () => {
  // `drawElf` of a `.text` section and one symbol "hidden" at 0x1000, compressed by xz 5.4.1.
  const compressed = Buffer.from(
    "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4AHfAHBdAD+RRYRoPYmm2orhgzJO5XOQdpv1SqLebMNUh1b8t6xyMH0s9+/BZ7fv/LFJ" +
      "+SOFz7QbAe0BAKGG4SjNB4wWVQgk/Uo6MM6xND000XufJL/hK0S8ORJw0fwhVlDqDAQx9KUAPevmtt74CVAV0HP9fEsAEyKfAXdS" +
      "fVMAAYwB4AMAAK/WfkOxxGf7AgAAAAAEWVo=",
    "base64",
  );
  const around = (content: Uint8Array) =>
    openObject(drawElf({ sections: [{ name: ".gnu_debugdata", type: 1, content }] }));

  it("has the symbols that were stripped", () => {
    const object = around(compressed);
    expect(object.symbols().length).toBe(0);
    expect(loadMiniDebugInfo(object.miniDebugInfo)?.symbols().find(0x1008)?.name).toBe("hidden");
  });

  it("counts as absent when there is none or it is damaged", () => {
    expect(loadMiniDebugInfo(openObject(drawElf({})).miniDebugInfo)).toBeUndefined();
    for (const length of [0, 4, 40, compressed.length - 60])
      expect(loadMiniDebugInfo(around(compressed.subarray(0, length)).miniDebugInfo)).toBeUndefined();
  });
});

describe("an xz stream", () => {
  /** A line repeated a hundred times, compressed by xz 5.4.1. */
  const text = "The quick brown fox jumps over the lazy dog.\n".repeat(100);
  const compressed = Buffer.from(
    "/Td6WFoAAATm1rRGAgAhARwAAAAQz1jM4BGTAEldACoaCKIDJWbxS3jFogX/LubZ0iAarTT44h3oQTb63AZpuzzkEDQnCeuzZuPsmTl+UFvlJ4UIOKE9mjxBxBhKU/Zq2f3P/NEk4AAAAAAA3VkHQYUv9sQAAWWUIwAAADTLbQ2xxGf7AgAAAAAEWVo=",
    "base64",
  );

  it("gives back what was compressed", () => {
    expect(new TextDecoder().decode(decompressXz(compressed, text.length))).toBe(text);
  });

  it("is refused when it is no stream, too large, cut off or damaged", () => {
    const damaged = Uint8Array.from(compressed, (byte, at) => (at === 60 ? byte ^ 4 : byte));
    for (const wrong of [new Uint8Array(0), new Uint8Array(20), compressed.subarray(0, 90), damaged])
      expect(() => decompressXz(wrong, 2 ** 20)).toThrow(FormatError);
    expect(() => decompressXz(compressed, text.length - 1)).toThrow("too large");
  });

  const hasTool = spawnSync("xz", ["--version"]).status === 0;
  it.skipIf(!hasTool)("of a program gives back the program", () => {
    const program = readFileSync(process.execPath).subarray(0, 3_000_000);
    const { stdout } = spawnSync("xz", ["-0c"], { input: program, maxBuffer: 2 ** 28 });
    expect(Buffer.compare(decompressXz(stdout, 2 ** 28), program)).toBe(0);
  });
});
