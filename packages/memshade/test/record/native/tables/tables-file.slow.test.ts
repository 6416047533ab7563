import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../../src/code/objects/index.ts";
import { SMALL_RULE, smallRuleAt, UNCHANGED, UnwindTable } from "../../../../src/code/unwind/index.ts";
import { Rule, RuleKind, TABLES_HEAD_BYTES, TablesHead } from "../../../../src/record/native/layout.ts";
import { tablesFile } from "../../../../src/record/native/tables/tables-file.ts";
import { sharedPath } from "../../../shared-path.ts";

const folder = sharedPath("fixtures/unwind");
const PROGRAMS = ["recursion", "frames-mix", "signal-callback", "threads", "plt-dynamic"]
  .map((name) => join(folder ?? "", name, "prog"))
  .filter((path) => existsSync(path));

/** Rule at an address, by the slow lookup that the format describes. */
function ruleIn(file: Uint8Array, address: number): number {
  const view = new DataView(file.buffer);
  const head = (field: number) => view.getUint32(field, true);
  const word = (index: number) => view.getUint32(TABLES_HEAD_BYTES + 4 * index, true);
  const offset = address - Number(view.getBigUint64(TablesHead.base, true));
  const block = Math.floor(offset / 4096);
  if (block >= head(TablesHead.blocks)) return RuleKind.none;
  let rule = 0;
  const entries = head(TablesHead.blocks) + 1;
  for (let i = word(block); i < word(block + 1); i++) {
    const entry = word(entries + i);
    if ((entry & 0xfff) <= offset % 4096) rule = entry >>> 12;
  }
  return word(entries + head(TablesHead.entries) + rule);
}

describe.skipIf(PROGRAMS.length === 0)("tables that processes map", () => {
  for (const path of PROGRAMS)
    it(`say of each address of ${path.split("/").at(-2)} what the unwinder's rules say`, () => {
      const object = openObject(readFileSync(path));
      const table = UnwindTable.fromObject(object);
      const file = tablesFile(table);
      let known = 0;
      for (const { address, memorySize } of object.segments.filter(
        ({ type, flags }) => type === 1 && (flags & 1) !== 0,
      ))
        for (let at = address; at < address + memorySize; at += 5) {
          const rule = ruleIn(file, at);
          const small = smallRuleAt(table, at, false);
          const kind = rule & Rule.kindMask;
          if (small.kind === SMALL_RULE.uncovered) expect(kind).toBe(RuleKind.none);
          else if (small.kind === SMALL_RULE.outermost) expect(kind).toBe(RuleKind.end);
          else if (small.kind !== SMALL_RULE.other) {
            known++;
            const saved = (rule >>> Rule.savedShift) & Rule.savedMask;
            expect({
              kind,
              cfa: ((rule >>> Rule.cfaShift) & Rule.cfaMask) * 8,
              saved: saved === 0 ? UNCHANGED : -8 * saved,
            }).toEqual({
              kind: small.kind === SMALL_RULE.stackPointer ? RuleKind.stackPointer : RuleKind.framePointer,
              cfa: small.cfaOffset,
              saved: small.framePointerOffset,
            });
          } else expect([RuleKind.saved, RuleKind.linkage, RuleKind.signal, RuleKind.other]).toContain(kind);
        }
      expect(known).toBeGreaterThan(10);
    });

  it("are the same bytes for the same object", () => {
    const object = openObject(readFileSync(PROGRAMS[0]));
    expect(tablesFile(UnwindTable.fromObject(object))).toEqual(tablesFile(UnwindTable.fromObject(object)));
  });

  it("have no blocks where an object says nothing of its frames", () => {
    const file = tablesFile(UnwindTable.fromCfi({ base: 0, sections: [] } as never, "x86_64"));
    expect(ruleIn(file, 4096)).toBe(RuleKind.none);
  });
});
