import { describe, expect, it } from "vitest";
import { disparityRatio, fieldOrder } from "../../../../src/explain/analyses/waste.ts";
import type { WasteObjects } from "../../../../src/profile/model/waste.ts";

describe("the order of fields", () => {
  it("has a disparity: how many times hotter each field is than its neighbour", () => {
    expect(disparityRatio([5, 2, 3])).toBe(3);
    expect(disparityRatio([2048, 1])).toBe(2048);
    expect(disparityRatio([1, 0, 2097152])).toBe(2097153);
    expect(disparityRatio([100, 100, 1, 100])).toBe(201);
    expect(disparityRatio([2, 2, 1])).toBe(3);
    expect(disparityRatio([7])).toBe(0);
    expect(disparityRatio([0, 0])).toBe(0);
  });

  const site = (fields: [string | undefined, number, number, number][]): WasteObjects => ({
    ips: [{ address: 1 }],
    objects: 10,
    bytes: 1280,
    size: 128,
    varies: false,
    bytesDead: 0,
    type: { name: "session", size: 128, by: "variable" },
    fields: fields.map(([name, offset, size, accesses]) => ({
      offset,
      size,
      accesses,
      reads: accesses,
      writes: 0,
      dead: 0,
      silent: 0,
      ...(name === undefined ? {} : { name }),
    })),
  });

  it("shows which fields have nine tenths of the accesses, and the lines that they need", () => {
    const order = fieldOrder(
      site([
        ["state", 0, 4, 5000],
        ["name", 4, 100, 10],
        ["count", 104, 8, 4900],
        [undefined, 112, 16, 0],
      ]),
    );
    expect(order?.hot.map(({ name }) => name)).toEqual(["state", "count"]);
    expect(order).toMatchObject({
      hotBytes: 12,
      accesses: 9910,
      disparity: 500 + 490,
      lines: { before: 2, after: 1 },
    });
  });

  it("is not known without a type or without accesses", () => {
    expect(fieldOrder({ ...site([["state", 0, 4, 5]]), type: undefined })).toBeUndefined();
    expect(fieldOrder(site([["state", 0, 4, 0]]))).toBeUndefined();
  });
});
