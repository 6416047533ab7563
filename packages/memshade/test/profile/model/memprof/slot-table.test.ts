import { describe, expect, it } from "vitest";
import { SlotTable } from "../../../../src/profile/model/memprof/index.ts";

function found(table: SlotTable, hash: number): number[] {
  const numbers: number[] = [];
  for (let slot = table.first(hash); table.get(slot) !== 0; slot = table.next(slot)) {
    const content = table.get(slot);
    if (table.mayHave(content, hash)) numbers.push(table.numberIn(content));
  }
  return numbers;
}

describe("slots of a hash table", () => {
  it("tell most numbers of other hashes apart, and never lose one", () => {
    const table = new SlotTable();
    for (let number = 1; number <= 60; number++)
      expect(table.fill(slotFor(table, number), number, number)).toBe(false);
    for (let number = 1; number <= 60; number++) expect(found(table, number)).toEqual([number]);
    expect(found(table, 1 + 64)).toEqual([1]);
  });

  it("give the room for hashes up when a number needs it", () => {
    const table = new SlotTable();
    const last = 2 ** 26 - 1;
    expect(table.fill(slotFor(table, 7), last, 7)).toBe(false);
    expect(table.fill(slotFor(table, 9), last + 1, 9)).toBe(true);
    table.enlarge();
    table.add(7, last);
    table.add(9, last + 1);
    table.add(11, 2 ** 32 - 1);
    expect(found(table, 7)).toContain(last);
    expect(found(table, 9)).toContain(last + 1);
    expect(found(table, 11)).toContain(2 ** 32 - 1);
  });
});

function slotFor(table: SlotTable, hash: number): number {
  let slot = table.first(hash);
  while (table.get(slot) !== 0) slot = table.next(slot);
  return slot;
}
