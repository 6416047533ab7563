import { describe, expect, it } from "vitest";
import { openMiniDebugInfo, openObject } from "../../src/objects/index.ts";
import { drawElf } from "./elf-picture.ts";

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
    expect(openMiniDebugInfo(object.miniDebugInfo)?.symbols().find(0x1008)?.name).toBe("hidden");
  });

  it("counts as absent when there is none or it is damaged", () => {
    expect(openMiniDebugInfo(openObject(drawElf({})).miniDebugInfo)).toBeUndefined();
    for (const length of [0, 4, 40, compressed.length - 60]) {
      expect(openMiniDebugInfo(around(compressed.subarray(0, length)).miniDebugInfo)).toBeUndefined();
    }
  });
});
