import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GROUPINGS } from "../../../src/explain/analyses/groups.ts";
import { rankChanges } from "../../../src/explain/diff/changes.ts";
import { diffHeaps } from "../../../src/explain/diff/heap-diff.ts";
import { hasHostFrames, withoutHostFrames } from "../../../src/explain/diff/without-host-frames.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import { profileOfPicture } from "../../heap-picture.ts";

/** Functions whose names begin with js belong to the host. */
function withHost(picture: string): HeapProfile {
  const profile = profileOfPicture(picture);
  const { frames, functions, strings } = profile;
  const nameOf = (frame: number) => strings[functions.name[frames.function[frame]!]!];
  const host = Array.from({ length: frames.length }, (_, frame) =>
    nameOf(frame)?.startsWith("js") ? ("script" as const) : undefined,
  );
  return { ...profile, frames: { ...frames, host } };
}

describe("a profile with calls in the host", () => {
  const plain = profileOfPicture("main > parse  3 x 10\nload  1 x 10\n-  1 x 7");
  const called = withHost(
    "jsMain > jsRun > main > parse  2 x 10\njsOther > main > parse  1 x 10\njsRun > load  1 x 10\njsRun  1 x 7",
  );

  it("is without them what a run tells that did not record them", () => {
    expect([hasHostFrames(called), hasHostFrames(plain)]).toEqual([true, false]);
    const stripped = withoutHostFrames(called);
    expect(hasHostFrames(stripped)).toBe(false);
    for (const by of GROUPINGS)
      for (const change of diffHeaps(plain, stripped, by).changes) {
        expect(rankChanges(change), change.measure.id).toEqual([]);
        expect(change.total.new).toBe(change.total.old);
      }
  });

  it("loses them between calls of the module too, whatever the order", () => {
    const name = fc.constantFrom("jsA", "jsB", "main", "parse", "load");
    const row = fc.array(name, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 6 }), (rows) => {
        const picture = (paths: string[][]) =>
          paths.map((path) => `${path.length === 0 ? "-" : path.join(" > ")}  1 x 8`).join("\n");
        const without = rows.map((path) => path.filter((word) => !word.startsWith("js")));
        const [stripped, never] = [
          withoutHostFrames(withHost(picture(rows))),
          profileOfPicture(picture(without)),
        ];
        const functionsOnly = diffHeaps(stripped, never, "function");
        expect(functionsOnly.changes.flatMap((change) => rankChanges(change))).toEqual([]);
      }),
    );
  });
});
