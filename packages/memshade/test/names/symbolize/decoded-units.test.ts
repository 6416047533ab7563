import { describe, expect, it } from "vitest";
import { type DecodedUnit, DecodedUnits } from "../../../src/names/symbolize/symbolizer.ts";

/** A unit that is decoded on its first use. */
class Unit implements DecodedUnit {
  readonly wholeBytes: number;
  sizeBytes = 0;
  decoded = 0;

  constructor(wholeBytes: number) {
    this.wholeBytes = wholeBytes;
  }

  forget(): void {
    this.sizeBytes = 0;
  }

  ask(units: DecodedUnits): void {
    if (this.sizeBytes === 0) this.decoded++;
    this.sizeBytes = this.wholeBytes;
    units.count(this);
  }
}

describe("units that are decoded", () => {
  it("stay within their bound, however often they are asked for and forgotten", () => {
    const units = new DecodedUnits(100);
    const all = Array.from({ length: 40 }, (_, index) => new Unit(5 + (index % 7)));
    for (let step = 0; step < 4000; step++) {
      all[(step * step + 3 * step) % 40]!.ask(units);
      const held = all.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      expect(held).toBeLessThanOrEqual(100);
      // At most half of the units, and one more, are dropped at a time.
      if (step > 100) expect(held).toBeGreaterThan(100 / 2 - 11);
    }
  });

  it("are forgotten in the order in which they were decoded, and not the one that is asked for", () => {
    const units = new DecodedUnits(100);
    const [first, second, third, large] = [30, 30, 30, 200].map((size) => new Unit(size)) as [
      Unit,
      Unit,
      Unit,
      Unit,
    ];
    for (const unit of [first, second, third, first]) unit.ask(units);
    expect([first, second, third].map(({ decoded }) => decoded)).toEqual([1, 1, 1]);
    new Unit(20).ask(units);
    expect([first, second, third].map(({ sizeBytes }) => sizeBytes)).toEqual([0, 0, 30]);
    large.ask(units);
    expect([large, third].map(({ sizeBytes }) => sizeBytes)).toEqual([200, 0]);
  });

  it("count anew when more of them is decoded, as when the other half of one is found", () => {
    const units = new DecodedUnits(100);
    const [grows, other] = [new Unit(10), new Unit(60)];
    for (const unit of [grows, other]) unit.ask(units);
    grows.sizeBytes = 50;
    units.count(grows);
    expect([grows, other].map(({ sizeBytes }) => sizeBytes)).toEqual([50, 0]);
  });
});
