import { describe, expect, it } from "vitest";
import { runFindings } from "../../../../../src/explain/findings/run-findings.ts";
import { pageOfRun } from "../../../../../src/show/report/page/data/run-page.ts";
import { someObjects } from "../../../../objects-picture.ts";

describe("the page of garbage-collected objects", () => {
  it("has fields where the model of sizes has them: aligned, and small ones in gaps", () => {
    const profile = someObjects();
    const [node] = profile.parts[0]!.types;
    const [first] = node!.fields;
    node!.fields = (
      [
        ["flag", 1],
        ["weight", 8],
        ["level", 2],
      ] as const
    ).map(([name, bytes]) => ({ ...first!, name, bytes }));
    const findings = runFindings({ objects: profile });
    const page = pageOfRun(
      { objects: profile },
      { input: "run", sources: "none", read: () => undefined, findings },
    );
    const { cells } = page.objects.find(({ type }) => type?.name === "Node")!;
    const names = Array.from(cells.name, (name) => page.strings[name]);
    expect(names).toEqual(["flag", "level", "weight"]);
    expect([...cells.offset]).toEqual([8, 10, 12]);
  });

  it("says that amounts of JavaScript callers are estimates where several share a context", () => {
    const cautionOf = (objects: ReturnType<typeof someObjects>) =>
      pageOfRun(
        { objects },
        { input: "run", sources: "none", read: () => undefined, findings: [] },
      ).weights.find(({ id }) => id === "objects")?.caution;
    expect(cautionOf(someObjects())).toBeUndefined();
    const profile = someObjects();
    const part = profile.parts[0]!;
    const [frame, path] = [part.frames.length, part.paths.frame.length];
    part.frames.push({ function: 8, offset: -1, name: "a" }, { function: 9, offset: -1, name: "b" });
    part.paths.frame.push(frame, frame + 1);
    part.paths.caller.push(-1, -1);
    part.samples.host = [path, path + 1];
    expect(cautionOf(profile)).toMatch(/JavaScript caller is estimated/);
  });
});
