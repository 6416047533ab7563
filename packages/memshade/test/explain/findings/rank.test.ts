import { describe, expect, it } from "vitest";
import { LEAST_PART, type PlaceFrame } from "../../../src/explain/findings/finding-kind.ts";
import type { Finding } from "../../../src/explain/findings/index.ts";
import type { LeakFinding } from "../../../src/explain/findings/leak.ts";
import { rankFindings } from "../../../src/explain/findings/rank.ts";

function leak(frame: PlaceFrame, part: number, amount = 100): Finding {
  return {
    kind: "leak",
    state: "live",
    behind: 0,
    tool: "heap",
    place: { path: [frame] },
    amount,
    unit: "bytes",
    part,
    blocks: 1,
    allocated: 1,
  };
}

const at = (line: number, name = `parse${line}`): PlaceFrame => ({
  function: name,
  file: "src/parse.c",
  line,
});

describe("the findings of a run", () => {
  it("stand in the order of their parts, whatever tool found them, and of their amounts where parts are equal", () => {
    const dead: Finding = {
      kind: "dead",
      tool: "waste",
      place: { path: [at(2)] },
      amount: 7,
      unit: "bytes",
      part: 0.4,
      share: 1,
    };
    const ranked = rankFindings([leak(at(1), 0.1, 5), dead, leak(at(3), 0.1, 9)]);
    expect(ranked.map(({ place }) => place.path[0]!.line)).toEqual([2, 3, 1]);
  });

  it("of blocks that were made once stand behind the others", () => {
    const once: Finding = { ...(leak(at(1), 0.9) as LeakFinding), isMadeOnce: true };
    const ranked = rankFindings([once, leak(at(2), 0.02), leak(at(3), 0.5)]);
    expect(ranked.map(({ place }) => place.path[0]!.line)).toEqual([3, 2, 1]);
  });

  it("take more where every program has a little of them", () => {
    const silent = (part: number): Finding => ({
      kind: "silent",
      tool: "waste",
      place: { path: [at(2)] },
      amount: 7,
      unit: "bytes",
      part,
      share: 1,
    });
    expect(rankFindings([leak(at(1), 0.04), silent(0.04)]).map(({ kind }) => kind)).toEqual(["leak"]);
    expect(rankFindings([silent(0.05)])).toHaveLength(1);
  });

  it("tell of the blocks of a place why the rest holds too", () => {
    const unread: Finding = { ...(leak(at(1), 0.9) as LeakFinding), kind: "never-read" };
    expect(
      rankFindings([unread, leak(at(1), 0.8), leak(at(2), 0.7)]).map(({ kind, part }) => [kind, part]),
    ).toEqual([
      ["leak", 0.8],
      ["leak", 0.7],
    ]);
    const peak = { ...leak(at(1), 0.9), kind: "peak" } as Finding;
    expect(rankFindings([peak, { ...unread, part: 0.4 }])).toMatchObject([{ kind: "never-read" }]);
  });

  it("are five at most, none of them for less than the least part", () => {
    const many = Array.from({ length: 9 }, (_, line) => leak(at(line + 1), LEAST_PART * (line + 1)));
    expect(rankFindings(many)).toHaveLength(5);
    expect(rankFindings([leak(at(1), LEAST_PART * 0.99)])).toEqual([]);
    expect(rankFindings([leak(at(1), LEAST_PART)])).toHaveLength(1);
  });

  it("are one per kind and line, with all that the line does", () => {
    const twice = [leak(at(1, "parse<int>"), 0.2, 20), leak(at(1, "parse<char>"), 0.3, 30), leak(at(2), 0.1)];
    expect(rankFindings(twice).map(({ part, amount }) => [part, amount])).toEqual([
      [0.5, 50],
      [0.1, 100],
    ]);
    expect(rankFindings(twice)[0]).toMatchObject({ blocks: 2, allocated: 2 });
    const churn: Finding = { ...leak(at(1), 0.2), kind: "churn" } as Finding;
    expect(rankFindings([...twice, churn])).toHaveLength(3);
    const another = { ...at(1), file: "src/lib/../parse.c" };
    expect(rankFindings([...twice, leak(another, 0.2)])).toHaveLength(2);
  });

  it("are one for an object and its parts, which one function makes: the first line stands for all", () => {
    const parts = [at(9, "open"), at(7, "open"), at(8, "open")].map((frame, i) => leak(frame, 0.2 - i / 100));
    const [joined, ...further] = rankFindings([...parts, leak(at(3, "close"), 0.1)]);
    expect(joined).toMatchObject({ amount: 300, blocks: 3, allocated: 3 });
    expect(joined!.part).toBeCloseTo(0.57);
    expect(joined!.place).toEqual({ path: [at(7, "open")], furtherLines: [9, 8] });
    expect(further).toHaveLength(1);
    const more = { ...(leak(at(10, "open"), 0.1) as LeakFinding), allocated: 2 };
    expect(rankFindings([...parts, more])).toHaveLength(2);
  });

  it("do not add up what two tools, or two states, say of a line", () => {
    const unread = { ...(leak(at(1), 0.2) as LeakFinding), kind: "never-read" } as Finding;
    expect(rankFindings([unread, { ...unread, tool: "waste", part: 0.3 } as Finding])).toMatchObject([
      { tool: "waste", part: 0.3 },
    ]);
    const growing = { ...(leak(at(1), 0.1) as LeakFinding), state: "growing" } as Finding;
    expect(rankFindings([growing, leak(at(1), 0.4)])).toMatchObject([{ state: "live", part: 0.4 }]);
    const pushed = leak(at(1), 0.1) as LeakFinding;
    const ofLibrary = {
      ...pushed,
      place: { ...pushed.place, via: { function: "push", file: "~lib/array.ts" } },
    };
    expect(rankFindings([ofLibrary, leak(at(1), 0.4)])).toMatchObject([{ part: 0.4 }]);
    const ofConstructor = { ...pushed, place: { ...pushed.place, via: { function: "Ring#constructor" } } };
    expect(rankFindings([ofConstructor, leak(at(1), 0.4)])).toMatchObject([{ part: 0.5 }]);
  });

  it("leave out what another one of the place says already", () => {
    const idle = { ...leak(at(1), 0.5), kind: "drag" } as unknown as Finding;
    expect(rankFindings([idle, leak(at(1), 0.1)]).map(({ kind }) => kind)).toEqual(["leak"]);
    expect(rankFindings([idle, leak(at(2), 0.1)])).toHaveLength(2);
  });

  it("are one per function where no line is known", () => {
    const calls = [1, 2].map((address) => leak({ function: "parse", address }, 0.2));
    expect(rankFindings(calls)).toHaveLength(1);
    expect(rankFindings([...calls, leak({ function: "load", address: 3 }, 0.2)])).toHaveLength(2);
  });
});
