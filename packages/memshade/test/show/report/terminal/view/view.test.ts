import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { weightedStacks } from "../../../../../src/explain/call-tree/weighted-stacks.ts";
import type { Finding } from "../../../../../src/explain/findings/index.ts";
import { stacksOf } from "../../../../../src/explain/measures/index.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { displayWidth } from "../../../../../src/show/report/terminal/common/text.ts";
import { render } from "../../../../../src/show/report/terminal/view/render.ts";
import { KEYS, lineWidth } from "../../../../../src/show/report/terminal/view/texts.ts";
import { update } from "../../../../../src/show/report/terminal/view/update.ts";
import { type ViewContents, ViewModel } from "../../../../../src/show/report/terminal/view/view-model.ts";
import { initialState, type Size } from "../../../../../src/show/report/terminal/view/view-state.ts";
import { store, wasteOf } from "../../../../explain/analyses/waste/waste-picture.ts";
import { profileOfPicture } from "../../../../heap-picture.ts";
import { heapProfile } from "../../arbitrary.ts";

const leak = (name: string, line: number): Finding => ({
  ...({ kind: "leak", tool: "heap", unit: "bytes", state: "lost", behind: 0 } as const),
  amount: 64,
  part: 0.5,
  blocks: 4,
  allocated: 8,
  place: {
    path: [
      { function: name, file: "src/app.c", line },
      { function: "main", file: "src/app.c", line: 30 },
    ],
  },
});

const HEAP = profileOfPicture(`
  main > parse > grow   4 x 100 live 1
  main > load > grow    1 x 50  live 1
  main > load > read    1 x 10
`);
const WASTE = wasteOf({ stores: [store("fill", 3, { dead_overwritten: 8, nof_stores: 2 })] });
const CONTENTS: ViewContents = {
  input: "memshade.out/app.1",
  findings: [leak("grow", 7), leak("missing", 12)],
  stacks: [
    weightedStacks(stacksOf("heap", { heap: HEAP })!, { heap: HEAP }),
    weightedStacks(stacksOf("waste", { waste: WASTE })!, { waste: WASTE }),
  ],
  readSource: (file) =>
    file === "src/app.c" ? Array.from({ length: 60 }, (_, index) => `int line_${index + 1};`) : undefined,
};

/** The screen after some keys: words are named keys, or characters to type. */
function screenOf(
  keys: string,
  contents: Partial<ViewContents> = {},
  size: Size = { columns: 80, rows: 24 },
): string[] {
  const model = new ViewModel({ ...CONTENTS, ...contents });
  let shown = render(model, initialState(model), size, createPaint(false));
  for (const word of keys.split(" ").filter((one) => one !== "")) {
    const isName = /^(up|down|left|right|enter|escape|backspace|home|end|page\w+)$/.test(word);
    for (const key of isName ? [word] : word)
      shown = render(model, update(model, shown.state, key, size), size, createPaint(false));
  }
  return [...shown.lines];
}

const selected = (lines: readonly string[]) => lines.find((line) => line.startsWith(">"))?.trimEnd();
const last = (lines: readonly string[]) => lines.at(-1)!.trimEnd();

describe("the viewer", () => {
  it("begins with the findings, and without any with the call tree", () => {
    expect(screenOf("")[0]).toMatch(/^Findings of memshade.out\/app.1 +2 findings$/);
    expect(selected(screenOf(""))).toMatch(/^> leak +64 B .* grow \(app.c:7\) are lost/);
    expect(screenOf("", { findings: [] })[0]).toContain("Heap by bytes allocated");
  });

  it("says what was not tracked, below the rows that leave room for it", () => {
    const [heap, waste] = CONTENTS.stacks;
    const stacks = [{ ...heap!, gaps: ["app: Allocations are not tracked."] }, waste!];
    expect(screenOf("", { stacks })).toEqual(
      expect.arrayContaining(["! Read this first", "  · app: Allocations are not tracked."]),
    );
    expect(screenOf("t", { stacks }).join("\n")).toContain("Allocations are not tracked.");
    expect(screenOf("t t", { stacks }).join("\n")).not.toContain("Allocations are not tracked.");
    const low = screenOf("", { stacks }, { columns: 40, rows: 7 });
    expect(low.map((line) => line.trimEnd())).toContain("! Figures have gaps: memshade report");
  });

  it("leaves out keys that do not fit, and no sentence", () => {
    const narrow = { columns: 40, rows: 10 };
    expect(last(screenOf("t", {}, narrow))).toBe("Enter open  s weight  ? help  q quit");
    const path = { path: [{ function: "grow", file: "gone.c", line: 7 }] };
    const findings = [{ ...leak("grow", 7), place: path }];
    const words = screenOf("enter", { findings }, narrow).map((line) => line.trim());
    expect(words.join(" ")).toContain("the file was not found: --path-map FROM=TO finds it");
  });

  it("goes from a finding to its source line and on to its call tree, and back", () => {
    const source = screenOf("enter");
    expect(source[0]).toContain("leak: 4 of 8 blocks of grow (src/app.c:7) are lost");
    expect(selected(source)).toBe("> grow (app.c:7)");
    expect(source).toContain("→  7 │ int line_7;");
    expect(screenOf("enter down")).toContain("→ 30 │ int line_30;");
    expect(screenOf("enter pagedown").join()).toContain("line_27;");
    expect(screenOf("enter escape")[0]).toContain("Findings of");
  });

  it("shows the place in the tree by what the finding is about", () => {
    const placed = { ...leak("grow", 7), place: { path: [{ function: "grow" }, { function: "load" }] } };
    const tree = screenOf("enter enter", { findings: [placed] });
    expect(tree[0]).toContain("Heap by bytes live at the end");
    expect(
      tree.filter((line) => /main|parse|load|grow/.test(line)).map((line) => line.slice(32).trimEnd()),
    ).toEqual([
      "▾ main (+0x110)",
      "  ▾ parse (+0x210)",
      "      grow (+0x310)",
      "  ▾ load (+0x410)",
      "      grow (+0x310)",
    ]);
    expect(selected(tree)).toMatch(/50 B .*grow/);
    expect(last(screenOf("down enter enter"))).toContain("No call path leads there: t shows the call tree");
  });

  it("opens and closes parts of the tree, and moves in it", () => {
    const open = "t";
    const names = (keys: string) =>
      screenOf(keys)
        .slice(2, -1)
        .filter((line) => line.trim() !== "")
        .map((line) => line.slice(32).replace(/ \(.*/, ""));
    expect(names(open)).toEqual(["▾ main", "  ▾ parse", "      grow", "  ▸ load"]);
    expect(names(`${open} down enter`)).toEqual(["▾ main", "  ▸ parse", "  ▸ load"]);
    expect(names(`${open} end right right`)).toEqual([
      "▾ main",
      "  ▾ parse",
      "      grow",
      "  ▾ load",
      "      grow",
      "      read",
    ]);
    expect(names(`${open} left`)).toEqual(["▸ main"]);
    expect(names(`${open} left e`)).toHaveLength(6);
    expect(selected(screenOf(`${open} down down left`))).toContain("▾ parse");
    expect(selected(screenOf(`${open} jjk`))).toContain("parse");
  });

  it("weighs by another figure, shows another tool, and turns the tree around", () => {
    expect(screenOf("t s")[0]).toContain("Heap by bytes live at the peak");
    expect(screenOf("t t")[0]).toContain("Waste by dead bytes");
    expect(screenOf("t t t")[0]).toContain("Heap by bytes allocated");
    const inverted = screenOf("t i");
    expect(inverted[0]).toContain("Heap callers by bytes allocated");
    expect(inverted[2]).toMatch(/450 B +97.8 % {2}[▸▾] grow/);
    expect(last(screenOf("tt", { stacks: CONTENTS.stacks.slice(0, 1) }))).toContain(" has call paths");
  });

  it("shows the source line of a row of the tree", () => {
    const source = screenOf("t down down a");
    expect(source[0]).toContain("Source");
    expect(source.slice(2, 5).map((line) => line.trimEnd())).toEqual([
      "> grow (+0x310)",
      "  ← parse (+0x210)",
      "  ← main (+0x110)",
    ]);
    expect(source.join()).toContain("the source file of this code is not known");
    expect(screenOf("t down down a escape")[0]).toContain("Heap by");
  });

  it("searches, in closed parts of a tree too, forwards and backwards and round the end", () => {
    expect(last(screenOf("t /re"))).toBe("/re");
    expect(last(screenOf("t /rex backspace"))).toBe("/re");
    expect(selected(screenOf("t /read enter"))).toContain("read");
    expect(selected(screenOf("t /grow enter n"))).toMatch(/50 B .*grow/);
    expect(selected(screenOf("t /grow enter n n"))).toMatch(/400 B .*grow/);
    expect(selected(screenOf("t /grow enter N"))).toMatch(/50 B .*grow/);
    expect(last(screenOf("t /Grow enter"))).toBe("Not found: Grow");
    expect(last(screenOf("t n"))).toContain("No previous search");
    expect(last(screenOf("t /grow escape"))).toContain("q quit");
    expect(selected(screenOf("/missing enter"))).toContain("missing");
  });

  it("has a help that says what each key does, from which q goes back", () => {
    const help = screenOf("?");
    for (const [keys, does] of KEYS.filter(([, text]) => text !== ""))
      expect(
        help.find((line) => line.includes(does)),
        keys,
      ).toContain(keys);
    expect(screenOf("? q")[0]).toContain("Findings of");
  });

  it("has all words of its help in a narrow window too, and can be moved to the last of them", () => {
    for (const columns of [24, 40, 60]) {
      const words = (lines: readonly string[]) => lines.join(" ").replaceAll(/[>\s]+/g, " ");
      const help = words(screenOf("?", {}, { columns, rows: 60 }));
      for (const [keys, does] of KEYS) for (const text of [keys, does]) expect(help).toContain(text);
      expect(words(screenOf("? G", {}, { columns, rows: 10 }))).toContain("perf");
    }
  });

  it("ends with q alone", () => {
    const model = new ViewModel(CONTENTS);
    const size = { columns: 80, rows: 24 };
    const after = (key: string) => update(model, initialState(model), key, size).isDone;
    expect(after("q")).toBe(true);
    for (const key of ["x", "escape", "enter", "f", "?", "backspace"]) expect(after(key), key).toBe(false);
  });

  it("keeps the cursor on the screen, however many rows there are", () => {
    const many = Array.from({ length: 100 }, (_, index) => leak(`f${index}`, index + 1));
    expect(selected(screenOf("end", { findings: many }))).toContain("f99 ");
    expect(selected(screenOf("pagedown", { findings: many }))).toContain("f20 ");
    expect(selected(screenOf("end pageup pageup", { findings: many }))).toContain("f59 ");
    expect(selected(screenOf("end home", { findings: many }))).toContain("f0 ");
  });

  it("fills the terminal and no more, whatever is in it and whatever is pressed", () => {
    const key = fc.constantFrom(
      ..."jkgGfti?qsenNah/x ",
      "up",
      "down",
      "left",
      "right",
      "enter",
      "escape",
      "backspace",
      "pageup",
      "pagedown",
      "home",
      "end",
      "f1",
      "文",
    );
    const size = fc.record({
      columns: fc.integer({ min: 1, max: 120 }),
      rows: fc.integer({ min: 1, max: 40 }),
    });
    fc.assert(
      fc.property(
        heapProfile,
        fc.array(fc.tuple(key, size), { maxLength: 30 }),
        fc.boolean(),
        (profile, steps, isColored) => {
          const paint = createPaint(isColored);
          const model = new ViewModel({
            ...CONTENTS,
            stacks: [
              weightedStacks(stacksOf("heap", { heap: profile })!, { heap: profile }),
              CONTENTS.stacks[1]!,
            ],
          });
          let state = initialState(model);
          for (const [pressed, at] of steps) {
            const shown = render(model, update(model, state, pressed, at), at, paint);
            state = { ...shown.state, isDone: false };
            expect(shown.lines).toHaveLength(at.rows);
            for (const line of shown.lines) {
              expect(lineWidth(line), line).toBeLessThanOrEqual(at.columns);
              if (!isColored) {
                expect(displayWidth(line)).toBeLessThanOrEqual(at.columns);
                expect(line).not.toMatch(/\p{Cc}/u);
              }
            }
          }
        },
      ),
    );
  });

  it("cuts characters that take two columns in front of the edge", () => {
    const wide = { ...leak("文字列を割り当てる関数の長い名前です", 3) };
    for (let columns = 20; columns < 60; columns++)
      for (const line of screenOf("enter", { findings: [wide] }, { columns, rows: 10 }))
        expect(displayWidth(line)).toBeLessThanOrEqual(columns);
  });
});
