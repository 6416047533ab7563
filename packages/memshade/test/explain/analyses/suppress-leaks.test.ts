import { describe, expect, it } from "vitest";
import { liveByKind } from "../../../src/explain/analyses/live-blocks.ts";
import { suppressLeaks } from "../../../src/explain/analyses/suppress-leaks.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import { gapsOf } from "../../../src/explain/measures/gaps.ts";
import { readSuppressions } from "../../../src/profile/formats/suppressions.ts";
import { profileOfPicture, reachOfPicture } from "../../heap-picture.ts";

const PICTURE = `
  main > parse > push  100 x 8   access 9  peak 100  live 100  lost 1  indirect 99  behind 99
  main > load > name    50 x 16  access 9  peak 50   live 50   lost 30  reachable 20
`;
const memcheck = (frames: string, kinds = "all") =>
  `{\n known\n Memcheck:Leak\n match-leak-kinds: ${kinds}\n ${frames.split(" ").join("\n ")}\n}\n`;

const suppressed = (text: string, picture = PICTURE) =>
  suppressLeaks(
    profileOfPicture(picture, {}, { reach: reachOfPicture(picture) }),
    readSuppressions(text, "app.supp"),
  );
const pathsOf = (text: string) => suppressed(text).description.suppressed!.map(({ paths }) => paths);

describe("suppressions", () => {
  it("take what fits them out of the lost blocks; all that is live still adds up", () => {
    const profile = suppressed(`# known for years\n${memcheck("fun:push")}leak:nothing`);
    expect(profile.description.suppressed).toMatchObject([
      { suppression: { name: "known" }, paths: 1, blocks: 100, bytes: 800 },
      { suppression: { name: "leak:nothing" }, paths: 0, blocks: 0, bytes: 0 },
    ]);
    expect(liveByKind(profile)).toEqual([
      { kind: "definite", blocks: 30, bytes: 480 },
      { kind: "reachable", blocks: 20, bytes: 320 },
      { kind: "suppressed", blocks: 100, bytes: 800 },
    ]);
    expect(runFindings({ heap: profile }).map(({ place }) => place.path[0]!.function)).toEqual(["name"]);
    expect(gapsOf(profile)).toEqual(
      [
        'The suppression "leak:nothing" (app.supp:8) matches no live block.',
        '100 live blocks (800 B) of 1 call path are suppressed by "known" (app.supp:2): known for years.',
      ].sort((a) => (a.startsWith("100") ? -1 : 1)),
    );
  });

  it("take out the kinds that they name", () => {
    const profile = suppressed(memcheck("fun:name", "definite"));
    expect(profile.description.suppressed).toMatchObject([{ blocks: 30, bytes: 480 }]);
    expect(liveByKind(profile)).toContainEqual({ kind: "reachable", blocks: 20, bytes: 320 });
  });

  it("fit call paths from the allocation function outwards", () => {
    expect(pathsOf(memcheck("fun:push fun:parse"))).toEqual([1]);
    expect(pathsOf(memcheck("fun:parse"))).toEqual([0]);
    expect(pathsOf(memcheck("... fun:parse"))).toEqual([1]);
    expect(pathsOf(memcheck("fun:p?sh ... fun:main"))).toEqual([1]);
    expect(pathsOf(memcheck("... fun:main ... fun:main"))).toEqual([0]);
    expect(pathsOf(memcheck("... obj:app*"))).toEqual([2]);
  });

  it("of LeakSanitizer fit what is anywhere on a path", () => {
    expect(pathsOf("leak:ars")).toEqual([1]);
    expect(pathsOf("leak:^ars")).toEqual([0]);
    expect(pathsOf("leak:^parse$")).toEqual([1]);
    expect(pathsOf("leak:app")).toEqual([2]);
  });

  it("leave alone what an earlier one took", () => {
    expect(pathsOf("leak:push\nleak:main")).toEqual([1, 1]);
  });

  it("take out findings where nobody looked for pointers, too", () => {
    const picture = "main > parse > push  100 x 8  access 9  peak 100  live 100";
    const plain = profileOfPicture(picture);
    expect(runFindings({ heap: plain }).map(({ kind }) => kind)).toEqual(["leak"]);
    const profile = suppressLeaks(plain, readSuppressions("leak:parse", "app.supp"));
    expect(runFindings({ heap: profile })).toEqual([]);
    expect(profile.description.suppressed).toMatchObject([{ blocks: 100, bytes: 800 }]);
  });
});
