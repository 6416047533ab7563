import { describe, expect, it } from "vitest";
import { wasteText } from "../../../../../src/record/tools/waste/read/waste-file.ts";
import { store, wasteOf } from "../../../../explain/analyses/waste/waste-picture.ts";

describe("the text of waste.json", () => {
  const file = wasteOf({ stores: [store("größe", 1, { nof_stores: 2 }), store("b", 2, {})] });

  it("is the file's JSON, a record per line", () => {
    const text = wasteText(file) as string;
    expect(JSON.parse(text)).toEqual(file);
    expect(text.split("\n").filter((line) => line.includes('"nof_stores"'))).toHaveLength(2);
    expect(text).toContain('"loads": []');
  });

  it("is bytes where a string could not hold it", () => {
    const bytes = wasteText(file, 100);
    expect(new TextDecoder().decode(bytes as Uint8Array)).toBe(wasteText(file));
  });
});
