import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { markWaste, withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { suppressLeaks } from "../../../src/explain/analyses/suppress-leaks.ts";
import { type CheckedLimit, type CheckedRun, checkLimits } from "../../../src/explain/limits/check-limits.ts";
import { parseLimit } from "../../../src/explain/limits/limit.ts";
import { readSuppressions } from "../../../src/profile/formats/suppressions.ts";
import type { Bound } from "../../../src/profile/model/bound.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { outcomeOf } from "../../../src/show/report/limits/checked.ts";
import { profileOfPicture } from "../../heap-picture.ts";

const OLD = `main > parse   10 x 100  peak 4  live 1
             main > cache   20 x 50   peak 8  live 2`;
const NEW = `main > parse   10 x 100  peak 4  live 1
             main > cache   30 x 50   peak 12  live 5`;

function heapOf(picture: string): HeapProfile {
  return withOwnSites(profileOfPicture(picture), new FrameRules({}));
}

function check(
  picture: string,
  limits: readonly string[],
  options: { before?: string; suppressions?: Parameters<typeof checkLimits>[2] } = {},
): CheckedLimit[] {
  const baseline =
    options.before === undefined ? undefined : { name: "before", tools: { heap: heapOf(options.before) } };
  return checkLimits({ name: "run", tools: { heap: heapOf(picture) } }, limits.map(parseLimit), {
    baseline,
    ...options.suppressions,
  });
}

const outcomes = (results: readonly CheckedLimit[]) => results.map(outcomeOf);
const passed = (results: readonly CheckedLimit[]) => results.map((result) => result.passed);

describe("limits of a run", () => {
  it("are exact to the byte", () => {
    const limits = ["peak<=800", "peak<800", "peak=800", "peak>=801", "left=200", "blocks=30"];
    expect(passed(check(OLD, limits))).toEqual([true, false, true, false, true, true]);
  });

  it("name the place that has most of it", () => {
    const [peak] = check(NEW, ["peak<1"]);
    expect(peak).toMatchObject({ value: 1000, most: { amount: 600 } });
    expect(peak!.most!.place.path[0]!.function).toBe("cache");
  });

  it("count what the run had and no context has", () => {
    const heap = heapOf(OLD);
    const totals = { ...heap.description.totals!, heapAccesses: 5000, allocations: 40 };
    const run = { ...heap, description: { ...heap.description, totals } };
    const limits = ["accesses=5000", "blocks=40", "blocks[under=main]<=40"].map(parseLimit);
    const results = checkLimits({ name: "run", tools: { heap: run } }, limits);
    expect(results.map(({ value }) => value)).toEqual([5000, 40, 30]);
    // Ten blocks have no context and may belong to main or not.
    expect(outcomes(results)).toEqual(["holds", "holds", "undecided"]);
  });

  it("count what is chosen alone", () => {
    const [one, other, both, nothing] = check(OLD, [
      "left[function=parse]=100",
      "left[function=cac*]=100",
      "left[under=main]=200",
      "left[function=paste]=0",
    ]);
    expect(passed([one!, other!, both!, nothing!])).toEqual([true, true, true, true]);
    expect([one!.choosesAny, nothing!.choosesAny]).toEqual([true, false]);
  });

  it("take percentages of the whole there, or of the whole run", () => {
    const [there, run] = check(OLD, ["left[function=parse]<=10%", "peak[function=parse]<=50%"]);
    // 100 of the 1,000 bytes that parse allocates; 400 of the 800 bytes at the peak of the run.
    expect(there).toMatchObject({ value: 100, whole: 1000, allowed: 100, passed: true });
    expect(run).toMatchObject({ value: 400, whole: 800, allowed: 400, passed: true });
    expect(
      check(
        OLD,
        ["lost<5%"].map((text) => text.replace("lost", "bytes")),
      )[0]!.passed,
    ).toBe(false);
  });

  it("cannot be decided where nobody recorded the measure, and say how to", () => {
    expect(() => check(OLD, ["dead<5%"])).toThrow(
      /^"dead<5%": run does not have dead: it takes a run with --tool waste/,
    );
    expect(() => check(OLD, ["lost=0"])).toThrow(/does not have lost/);
    expect(() => check(OLD, ["lifetime<5%"])).toThrow(/lifetime cannot be limited in %/);
    expect(() => check(OLD, ["peak[kind=leak]<5"])).toThrow(/only findings have a kind/);
  });

  it("of lost blocks cannot be decided where nobody looked for pointers, and say why", () => {
    const heap = heapOf(OLD);
    const lost = (changes: Partial<HeapProfile>) =>
      checkLimits({ name: "run", tools: { heap: { ...heap, ...changes } } }, [parseLimit("lost=0")]);
    const modules = heap.modules.map((module) => ({ ...module, objectAddress: 4096 }));
    expect(() => lost({ modules })).toThrow(
      '"lost=0": run does not have lost: the memory was not searched for pointers to blocks',
    );
    const why = "Whether 3 live blocks are lost or still reachable is not known: it was ended by SIGTERM.";
    const description = { ...heap.description, notTracked: ["Stacks were cut.", why] };
    expect(() => lost({ modules, description })).toThrow(
      `could not be searched for pointers to blocks. ${why}`,
    );
    expect(() => lost({ description: { ...heap.description, notTracked: ["Threads share it."] } })).toThrow(
      '"lost=0": run does not have lost: the memory could not be searched for pointers to blocks. Threads share it.',
    );
    expect(() => lost({ description: { ...heap.description, recordedBy: undefined } })).toThrow(
      '"lost=0": run does not have lost: it takes a run with --tool heap or alloc',
    );
  });

  it("of findings cannot be decided where what they are made of was not recorded: none would not be true", () => {
    const heap = heapOf(OLD);
    const site = { ...heap.contexts.site!, readBytes: undefined };
    const description = {
      ...heap.description,
      unknownFields: ["maxAccessCount", "totalAccessCount"] as const,
    };
    const alloc = { ...heap, description, contexts: { ...heap.contexts, site } };
    const results = (tools: CheckedRun["tools"], limit: string) =>
      checkLimits({ name: "run", tools }, [parseLimit(limit)]);
    for (const kind of ["unused", "drag", "over-capacity", "never-read", "unread-data"])
      expect(() => results({ heap: alloc }, `${kind}=0`)).toThrow(
        `does not have ${kind}: it takes a run with`,
      );
    for (const kind of ["leak", "churn", "growth"])
      expect(results({ heap: alloc }, `${kind}<9`)).toMatchObject([{ passed: true, undecided: [] }]);
    expect(results({ heap }, "unused<9")).toMatchObject([{ passed: true }]);
    expect(() => results({ heap }, "unread-data=0")).toThrow("of a module whose data has fixed addresses");
  });

  it("cannot be decided where no allocator was followed: 0 would not be true", () => {
    const heap = heapOf("");
    const module = { name: "app", buildId: "", start: 0n, end: 4096n };
    const recorded = (how: "none" | "names", refused?: string): HeapProfile => ({
      ...heap,
      modules: [{ ...module, allocator: { how, functions: [], refused } }],
      description: { ...heap.description, notTracked: ["app: it keeps pages of its own."] },
    });
    const results = (tools: Parameters<typeof checkLimits>[0]["tools"], limit: string) =>
      checkLimits({ name: "run", tools }, [parseLimit(limit)]);
    for (const limit of ["left=0", "peak<1%", "leak=0", "findings=0", "left[function=parse]=0"]) {
      expect(() => results({ heap: recorded("none") }, limit)).toThrow(
        /no allocator was found, .* app: it keeps pages/,
      );
      expect(() => results({ heap: recorded("names", "It was none.") }, limit)).toThrow(/no allocator/);
      expect(passed(results({ heap: recorded("names") }, limit))).toEqual([true]);
    }
  });

  it("are of findings too", () => {
    const leaky = "main > make  100 x 64  peak 100  live 100";
    expect(check(leaky, ["leak=0"])[0]).toMatchObject({ passed: false, value: 1 });
    expect(
      check(leaky, ["findings[kind=churn]=0", "findings[kind=leak]<=1"]).map((one) => one.value),
    ).toEqual([0, 1]);
  });
});

describe("limits against a baseline", () => {
  it("allow so much more, or nothing", () => {
    const limits = ["peak<+25%", "peak<=+25%", "peak<=+200", "peak<+199", "left<=+0", "blocks=+10"];
    expect(passed(check(NEW, limits, { before: OLD }))).toEqual([false, true, true, false, false, true]);
  });

  it("hold where nothing changed, also where there is nothing", () => {
    const nothing = "main > parse  1 x 8";
    expect(passed(check(nothing, ["left<+5%", "left<=+0", "peak<+1KiB"], { before: nothing }))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("can ask for less", () => {
    expect(passed(check(OLD, ["peak<=-20%", "peak<-20%", "left<=-150"], { before: NEW }))).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("name the place that has grown most, and not the largest one", () => {
    const before = `main > big  1 x 5000  peak 1
                    main > small  1 x 10  peak 1`;
    const after = `main > big  1 x 5000  peak 1
                   main > small  50 x 10  peak 50`;
    const [peak] = check(after, ["peak<=+0"], { before });
    expect(peak!.most).toMatchObject({ amount: 500, before: 10 });
    expect(peak!.most!.place.path[0]!.function).toBe("small");
  });

  it("need one", () => {
    expect(() => check(OLD, ["peak<+5%"])).toThrow(/give one with --baseline RUN/);
  });
});

describe("what is suppressed", () => {
  it("does not count, and says what it was", () => {
    const suppression = {
      measures: ["left"],
      filters: [{ key: "function" as const, glob: "cache" }],
      reason: "a table",
      place: "budget.yaml:3",
    };
    const [left, peak] = check(NEW, ["left=100", "peak=1000"], {
      suppressions: { suppressions: [suppression] },
    });
    expect(left).toMatchObject({ passed: true, value: 100, suppressed: [{ amount: 250, suppression }] });
    expect(peak).toMatchObject({ passed: true, suppressed: [] });
  });

  it("as a leak is not left either", () => {
    const heap = suppressLeaks(heapOf(NEW), readSuppressions("# a table\nleak:cache", "leaks.supp"));
    const [left] = checkLimits({ name: "run", tools: { heap } }, [parseLimit("left=100")]);
    expect(left).toMatchObject({ passed: true, value: 100 });
  });
});

describe("limits of waste", () => {
  const frame = { address: 8, function: "fill", file: "/build/src/fill.c", line: 7 };
  const store = {
    ips: [{ address: 4, function: "memset", file: "/wasi-libc/memset.c", line: 1, inlined: [frame] }],
    bytes_written: 1000,
    bytes_read: 0,
    nof_stores: 100,
    nof_silent: 5,
    bytes_dead: 50,
    dead_overwritten: 50,
    dead_deallocated: 0,
    dead_exit: 0,
    bytes_silent: 0,
    host_assumed_read: 0,
    class: "plain" as const,
  };
  const waste = {
    options: { engine: "brief", contexts: false, objects: false, compat: "" },
    totals: { deadDeallocated: 0, deadExit: 0 },
    stores: [
      store,
      {
        ...store,
        ips: [{ ...frame, function: "other", file: "o.c" }],
        bytes_dead: 560,
        dead_overwritten: 500,
        dead_deallocated: 40,
        dead_exit: 20,
      },
    ],
    loads: [],
    notTracked: [],
  } as unknown as WasteFile;
  markWaste(waste, new FrameRules({}));
  const run = { name: "run", tools: { waste } };

  it("choose by own code and by the library behind it", () => {
    const limits = [
      "dead[file=src/fill.c]<=5%",
      "dead[function=memset]<=50",
      "dead[package=the C library]=50",
    ];
    expect(passed(checkLimits(run, limits.map(parseLimit)))).toEqual([true, true, true]);
    expect(checkLimits(run, [parseLimit("dead<10%")])[0]).toMatchObject({
      passed: false,
      value: 550,
      whole: 2000,
    });
  });

  it("tell what was overwritten unread from what was unread as its block ended, as reports do", () => {
    const [dead, ended] = checkLimits(run, ["dead=550", "dead-ended=60"].map(parseLimit));
    expect([dead!.value, ended!.value]).toEqual([550, 60]);
  });
});

describe("figures that are known to be no exact counts", () => {
  const run = (facts: CheckedRun["facts"], overflow = { contexts: 0, blocks: 0 }): CheckedRun => {
    const heap = heapOf(OLD);
    const totals = { ...heap.description.totals!, overflow };
    return { name: "run", tools: { heap: { ...heap, description: { ...heap.description, totals } } }, facts };
  };
  const bound = (are: Bound["are"], rest: Partial<Bound> = {}): CheckedRun["facts"] => ({
    bounds: [{ figures: ["left", "peak"], are, because: "of something", ...rest }],
  });
  const results = (checked: CheckedRun, limits: readonly string[], baseline?: CheckedRun) =>
    checkLimits(checked, limits.map(parseLimit), { baseline });

  it("decide a limit that holds or fails all the same, and no other one", () => {
    const limits = ["left<300", "left<=200", "left<200", "left>=200", "left>200", "left=200", "left=199"];
    expect(outcomes(results(run(bound("least")), limits))).toEqual([
      "undecided",
      "undecided",
      "failed",
      "holds",
      "undecided",
      "undecided",
      "failed",
    ]);
    expect(outcomes(results(run(bound("most")), limits))).toEqual([
      "holds",
      "holds",
      "undecided",
      "undecided",
      "failed",
      "undecided",
      "undecided",
    ]);
    expect(outcomes(results(run(bound("either")), limits))).toEqual(limits.map(() => "undecided"));
    expect(outcomes(results(run({}), limits))).toEqual([
      "holds",
      "holds",
      "failed",
      "holds",
      "failed",
      "holds",
      "failed",
    ]);
  });

  it("say why, and nothing of other figures", () => {
    const [left, blocks] = results(run(bound("least")), ["left<300", "blocks<=30"]);
    expect(left).toMatchObject({
      passed: false,
      undecided: ["of something"],
      range: { least: 200, most: Infinity },
    });
    expect(blocks).toMatchObject({ passed: true, undecided: [], range: { least: 30, most: 30 } });
  });

  it("are those of live blocks where their table was full, and what was allocated is exact", () => {
    const full = run({}, { contexts: 0, blocks: 5 });
    const limits = [
      "left<1k",
      "peak<1k",
      "left<1",
      "left[function=parse]<1k",
      "blocks=30",
      "bytes<=2000",
      "leak=0",
    ];
    expect(outcomes(results(full, limits))).toEqual([
      "undecided",
      "undecided",
      "failed",
      "undecided",
      "holds",
      "holds",
      "undecided",
    ]);
  });

  it("are those of places where call paths are counted together, cut or lost", () => {
    const limits = ["left<1k", "left[function=parse]<1k", "left[function=parse]<1"];
    const expected = ["holds", "undecided", "failed"];
    expect(outcomes(results(run({}, { contexts: 7, blocks: 0 }), limits))).toEqual(expected);
    expect(outcomes(results(run(bound("least", { byPlace: true })), limits))).toEqual(expected);
  });

  it("are all of a run that was ended, and none of one that was looked at", () => {
    const limits = ["left<1k", "left=0", "peak<1k", "peak<1", "blocks>=30", "findings<9"];
    const ended = (kind: "signal" | "trap" | "exception" | "exit" | "dump") =>
      results(run({ end: { kind } }), limits);
    for (const kind of ["signal", "trap", "exception"] as const)
      expect(outcomes(ended(kind))).toEqual([
        "undecided",
        "undecided",
        "undecided",
        "failed",
        "holds",
        "undecided",
      ]);
    for (const kind of ["exit", "dump"] as const)
      expect(outcomes(ended(kind))).toEqual(["holds", "failed", "holds", "failed", "holds", "holds"]);
  });

  it("make parts and comparisons undecided too", () => {
    expect(outcomes(results(run(bound("least")), ["left<50%", "left<1%"]))).toEqual(["undecided", "failed"]);
    const [grown, less, most] = results(run({}), ["left<=+0", "left<=+50%", "peak<=+0"], run(bound("least")));
    expect([grown, less, most].map((one) => one!.passed)).toEqual([true, true, true]);
    const against = results(run(bound("least")), ["left<=+0", "left<=-1"], run({}));
    expect(outcomes(against)).toEqual(["undecided", "failed"]);
    const both = results(run({}), ["left<=-1"], run(bound("least")));
    expect(both[0]).toMatchObject({ passed: false, undecided: ["of something (run)"] });
  });

  it("are those of a module whose allocator was refused, beside one that was followed", () => {
    const checked = run({});
    const heap = checked.tools.heap!;
    const modules = [
      ...heap.modules,
      {
        name: "other",
        buildId: "",
        start: 0n,
        end: 9n,
        allocator: { how: "structure" as const, functions: [], refused: "No." },
      },
    ];
    const [left] = results({ ...checked, tools: { heap: { ...heap, modules } } }, ["left<1k"]);
    expect(left!.undecided).toEqual(["the blocks of other were not recorded"]);
  });
});
