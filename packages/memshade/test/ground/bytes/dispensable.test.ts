import { afterEach, describe, expect, it } from "vitest";
import { dispensable } from "../../../src/ground/bytes/dispensable.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";

afterEach(() => {
  process.env.MEMSHADE_STRICT = "1";
});

function readOr(read: () => string): unknown[] {
  const told: string[] = [];
  return [dispensable(read, (reason) => told.push(reason)), ...told];
}

const brokenReader = (): string => (undefined as unknown as string).trim();

describe("what a report can do without", () => {
  it("is read where nothing is wrong", () => {
    expect(readOr(() => "name")).toEqual(["name"]);
  });

  it("is left out with its reason where it is damaged", () => {
    const damaged = () => {
      throw new FormatError("malformed", 3, "source map", "it is no object");
    };
    expect(readOr(damaged)).toEqual([undefined, "source map at offset 0x3: it is no object"]);
  });

  it("is left out in one line where the reader has a defect", () => {
    process.env.MEMSHADE_STRICT = "0";
    const [value, reason] = readOr(brokenReader);
    expect(value).toBeUndefined();
    expect(reason).toMatch(/^internal error: TypeError: .*dispensable\.test\.ts:\d+:\d+\)?$/);
  });

  it("ends a test whose reader has a defect", () => {
    expect(() => readOr(brokenReader)).toThrow(TypeError);
  });
});
