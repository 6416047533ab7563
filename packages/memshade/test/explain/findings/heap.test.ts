import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import type { Finding } from "../../../src/explain/findings/index.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import { NONE } from "../../../src/profile/model/indices.ts";
import type { RunHeap } from "../../../src/profile/model/run.ts";
import { profileOfPicture, reachOfPicture } from "../../heap-picture.ts";

function findingsOf(picture: string, heap: Partial<RunHeap> = {}, knownHost?: boolean): Finding[] {
  const profile = withOwnSites(profileOfPicture(picture, {}, heap), new FrameRules());
  return runFindings({ heap: { ...profile, description: { ...profile.description, knownHost } } });
}

const inShort = (findings: readonly Finding[]) =>
  findings.map(({ kind, amount, place }) => `${kind} ${amount} ${place.path[0]!.function}`);

describe("findings of the heap", () => {
  it("are sites with blocks that are live at the end; the part is their share of the peak", () => {
    const [leak] = findingsOf("main > parse > std::string::assign  100 x 64  access 9  peak 90  live 50");
    expect(leak).toMatchObject({ kind: "leak", amount: 3200, part: 50 / 90, blocks: 50, allocated: 100 });
    expect(leak!.place).toMatchObject({
      path: [{ function: "parse" }, { function: "main" }],
      via: { function: "std::string::assign" },
    });
  });

  it("leave out estimates whose margin of error reaches the amount", () => {
    const profile = profileOfPicture("main > parse  100 x 64  access 9  peak 90  live 50", {});
    const toldWith = (deviation: number) => {
      const variances = { totalSize: Float64Array.of(deviation ** 2), allocCount: Float64Array.of(0) };
      const contexts = { ...profile.contexts, isEstimated: Uint8Array.of(1), variances };
      return runFindings({ heap: { ...profile, contexts } });
    };
    const leaks = (deviation: number) => toldWith(deviation).filter(({ kind }) => kind === "leak");
    // Half of the bytes are live: 3,200, with half of the variance, and a margin of two deviations.
    expect(leaks(1598 * Math.SQRT2)).toMatchObject([{ amount: 3200 }]);
    expect(leaks(1601 * Math.SQRT2)).toEqual([]);
  });

  it("report no leak if recording ended before the program did", () => {
    const profile = profileOfPicture("main > parse  100 x 64  life 20  access 9  peak 90  live 50", {});
    for (const end of [
      { kind: "signal", signal: "SIGINT" },
      { kind: "dump" },
      { kind: "exit", exitCode: 0, isLater: true },
    ] as const)
      expect(runFindings({ heap: { ...profile, description: { ...profile.description, end } } })).toEqual([]);
  });

  it("report no leak for a single block that lives as long as the program", () => {
    expect(findingsOf("main > table  1 x 4096  access 9  peak 1  live 1")).toEqual([]);
  });

  describe("with known reachability", () => {
    const leaksOf = (picture: string, hostMayHold = false) =>
      findingsOf(picture, { reach: reachOfPicture(picture, hostMayHold) });

    it("report sites of lost blocks, with the blocks that only these reach", () => {
      const [leak, ...others] = leaksOf(`
        main > parse > push  100 x 8   access 9  peak 100  live 100  lost 1  indirect 99  behind 149
        main > parse > name   50 x 16  access 9  peak 50   live 50   indirect 50
        main > intern        100 x 64  access 9  peak 100  live 100  reachable 100
      `);
      expect(others).toEqual([]);
      expect(leak).toMatchObject({ kind: "leak", state: "lost", blocks: 100, allocated: 100, behind: 50 });
      expect(leak!.place.path[0]!.function).toBe("push");
    });

    it("report the callers that lose blocks, not the function that allocates for several callers", () => {
      const made = (other: string) => `
        main > next > make  80 x 16  access 9  peak 80  live 80  lost 80
        main > read > make  90 x 16  access 9  peak 2  ${other}
      `;
      const [leak, ...others] = leaksOf(made("live 0"));
      expect(others.filter(({ kind }) => kind === "leak")).toEqual([]);
      expect(leak).toMatchObject({
        kind: "leak",
        blocks: 80,
        allocated: 80,
        place: { path: [{ function: "next" }, { function: "main" }], via: { function: "make" } },
      });
      // If all callers have lost blocks, the finding names the function.
      expect(leaksOf(made("live 9  lost 9"))[0]).toMatchObject({
        blocks: 89,
        place: { path: [{ function: "make" }, { function: "next" }, { function: "main" }] },
      });
    });

    it("do not report still reachable or possibly lost blocks", () => {
      expect(
        leaksOf("main > table  100 x 64  access 9  peak 100  live 100  reachable 99  possible 1"),
      ).toEqual([]);
    });

    describe("of still reachable blocks", () => {
      const growing = (facts: string, accessesAfter = 0) => {
        const picture = `main > intern  100 x 64  access 9  peak 100  ${facts}`;
        const findings = findingsOf(picture, { reach: { ...reachOfPicture(picture), accessesAfter } });
        return findings.map((finding) => finding.kind === "leak" && finding.state);
      };

      it("report sites that keep allocating while most of their blocks are idle at the end", () => {
        expect(growing("live 100  reachable 100  grown 50  idle 90")).toEqual(["growing"]);
        expect(growing("live 90  reachable 90  grown 45  idle 45")).toEqual(["growing"]);
      });

      it("leave out sites that release blocks, stop allocating, or still use their blocks", () => {
        expect(growing("live 89  reachable 89  grown 45  idle 89")).toEqual([]);
        expect(growing("live 100  reachable 100  grown 24  idle 100")).toEqual([]);
        expect(growing("live 100  reachable 100  grown 50  idle 49")).toEqual([]);
      });

      it("leave out data that was built before the program's main work", () => {
        expect(growing("live 100  reachable 100  grown 50  idle 90  done 49")).toEqual(["growing"]);
        expect(growing("live 100  reachable 100  grown 50  idle 90  done 50")).toEqual([]);
      });

      it("report nothing if much of the program's work comes after the last allocation", () => {
        const facts = "live 100  reachable 100  grown 50  idle 90";
        // There are 900 accesses to blocks, and 1,000 elsewhere.
        expect(growing(facts, 475)).toEqual(["growing"]);
        expect(growing(facts, 476)).toEqual([]);
      });
    });

    it("report nothing else about blocks that are mostly reachable only from lost ones", () => {
      const kindsOf = (hanging: number) => {
        const picture = `
          main > node  10 x 640  life 20  access 9  peak 10  live 10  lost 10
          main > name  10 x 640  life 20  access 9  peak 10  unread 10  live ${hanging}  indirect ${hanging}
        `;
        return inShort(findingsOf(picture, { reach: reachOfPicture(picture) }, true));
      };
      expect(kindsOf(5)).toEqual(["leak 6400 node"]);
      expect(kindsOf(4)).toEqual(["never-read 6400 name", "leak 6400 node"]);
    });

    it("do not report the one block that the main function holds until it returns", () => {
      expect(leaksOf("_start > main  1 x 64  access 9  peak 1  live 1  lost 1")).toEqual([]);
      expect(leaksOf("_start > main > load  1 x 64  access 9  peak 1  live 1  lost 1")).toHaveLength(1);
      expect(leaksOf("_start > main  2 x 64  access 9  peak 2  live 2  lost 2")).toHaveLength(1);
    });

    it("report blocks whose addresses only the host may hold, if it allocates such blocks to the end", () => {
      const one = (facts: string) => leaksOf(`create  300 x 64  life 9  access 9  peak 300  ${facts}`, true);
      expect(one("live 100  lost 100  late 48")).toMatchObject([
        { kind: "leak", state: "host", blocks: 100 },
      ]);
      expect(one("live 100  lost 100  late 3")).toEqual([]);
      expect(one("live 9  lost 9  late 9")).toEqual([]);
      // A world that is built once and then simulated for long has its parts inside.
      expect(one("live 100  indirect 100  late 90  settled 78")).toEqual([]);
      expect(one("live 100  indirect 100  late 90  settled 77")).toHaveLength(1);
    });

    it("count addresses inside blocks as held by the host, unless the module reaches most blocks of the site", () => {
      const one = (facts: string) => leaksOf(`create  300 x 64  life 9  access 9  peak 300  ${facts}`, true);
      expect(one("live 100  possible 60  reachable 40  late 60")).toMatchObject([
        { blocks: 60, amount: 60 * 64 },
      ]);
      // Case: stacks and tagged addresses of an interpreter.
      expect(one("live 100  possible 50  reachable 50  late 50")).toEqual([]);
      expect(one("live 130  lost 30  possible 50  reachable 50  late 80")).toMatchObject([{ blocks: 30 }]);
      expect(one("live 130  lost 30  possible 50  reachable 50  late 50")).toEqual([]);
    });

    describe("report an object of the host that grew to the end", () => {
      const database = (facts: string) =>
        `open > Database  1 x 64  life 99  peak 1  live 1  lost 1  ${facts}`;
      const pages = (facts: string) =>
        `query > page  100 x 64  life 9  peak 99  live 99  indirect 99  ${facts}`;
      const held = (...lines: readonly string[]) => leaksOf(lines.join("\n"), true);

      it("with all blocks inside it", () => {
        const whole = [{ kind: "leak", state: "host", blocks: 1, behind: 99, amount: 100 * 64 }];
        const settled = pages("late 30  settled 30");
        expect(held(database("behind 99  inside 30"), settled)).toMatchObject(whole);
        // A block that the program allocates at the start and uses may be needed.
        expect(held(database("behind 99  inside 9"), settled)).toEqual([]);
      });

      it("whatever blocks it had at the start", () => {
        const parts = "open > table  300 x 64  life 99  peak 300  live 300  indirect 300";
        const opened = (behind: number, inside: number) =>
          held(
            "open > Database  1 x 64  life 99  peak 1  live 1  lost 1".concat(
              `  indirect 300  behind ${behind}  inside ${inside}`,
            ),
            parts,
          );
        expect(opened(420, 30)).toMatchObject([{ blocks: 1, behind: 420 }]);
        expect(opened(420, 29)).toEqual([]);
      });

      it("without the lines that fill it, except a line that makes most of its blocks", () => {
        const line = (name: string, count: number) =>
          `${name} > ${name}Page  200 x 64  life 9  peak ${count}  live ${count}  indirect ${count}  late ${count}`;
        const places = (one: number, other: number) =>
          held(
            database(`behind ${one + other}  inside ${one}`),
            line("insert", one),
            line("index", other),
          ).map(({ place }) => place.path.at(-1)!.function);
        expect(places(60, 60)).toEqual(["open"]);
        expect(places(61, 60)).toEqual(["open", "insert"]);
      });

      it("without lines that fill objects which are made repeatedly", () => {
        const many = "open > Database  20 x 64  life 99  peak 20  live 20  lost 20  late 10";
        expect(held(`${many}  behind 99  inside 50`, pages("late 50"))).toMatchObject([
          { blocks: 20, behind: 99, amount: 119 * 64 },
        ]);
        // Blocks that other objects hold are reported.
        expect(held(many, pages("late 50"))).toMatchObject([{ blocks: 99 }, { blocks: 20 }]);
      });
    });
  });

  it("report blocks that are never used, and blocks that are written but never read", () => {
    const blocks = `
      main > spare  10 x 640  life 20  unused 8
      main > table  10 x 640  life 20  access 9  unread 4
      main > log    10 x 640  life 20  access 9  unread 10
      main > work   10 x 64  life 20  access 9
    `;
    expect(inShort(findingsOf(blocks, {}, true))).toEqual(["never-read 6400 log", "unused 5120 spare"]);
    // A host with unknown reads may have read the blocks.
    expect(inShort(findingsOf(blocks))).toEqual(["unused 5120 spare"]);
  });

  it("leave out a few bytes, even if they are a large part of a small program", () => {
    expect(findingsOf("main > spare  2 x 20  life 20  unused 2")).toEqual([]);
    expect(findingsOf("main > name  2 x 20  access 9  peak 2  live 2")).toEqual([]);
    // Many small leaked blocks are a kind that will keep growing.
    expect(inShort(findingsOf("main > name  40 x 16  access 9  peak 40  live 40"))).toEqual([
      "leak 640 name",
    ]);
  });

  it("report short-lived blocks if the allocator's work for them matters beside the program's", () => {
    const picture = "main > join  1000 x 16  access 2  temporary 1000";
    expect(inShort(findingsOf(picture))).toEqual(["churn 1000 join"]);
    expect(findingsOf(picture, { otherAccesses: 10_000_000 })).toEqual([]);
  });

  it("do not count blocks that a reallocation moved as freed early", () => {
    expect(findingsOf("main > put  1000 x 16  access 2  temporary 999  reallocated 999")).toEqual([]);
  });

  it("report no churn at a site most of whose blocks live longer", () => {
    expect(findingsOf("main > join  1000 x 16  life 20  access 2  temporary 400")).toEqual([]);
  });

  it("need a named function of the program on the call path", () => {
    expect(findingsOf("std::string::assign  100 x 64  access 9  peak 90  live 50")).toEqual([]);
    expect(findingsOf("-  100 x 64  access 9  peak 90  live 50")).toEqual([]);
  });

  it("report only leaks at lines of a script, which does not decide how a module uses its blocks", () => {
    const profile = profileOfPicture(`
      page > leave  100 x 64  access 9  peak 90  live 50
      page > join  1000 x 16  access 2  temporary 1000
    `);
    const { functions } = profile;
    const ofScript = {
      ...profile,
      functions: { ...functions, module: Array.from({ length: functions.length }, () => NONE) },
    };
    expect(runFindings({ heap: profile }).map(({ kind }) => kind)).toEqual(["churn", "leak"]);
    expect(runFindings({ heap: ofScript }).map(({ kind }) => kind)).toEqual(["leak"]);
  });

  it("report no unused blocks if accesses were not counted", () => {
    const profile = profileOfPicture("main > work  10 x 64  unused 10  temporary 10");
    const description = { ...profile.description, counters: "none" } as const;
    expect(runFindings({ heap: { ...profile, description } })).toEqual([]);
  });
});
