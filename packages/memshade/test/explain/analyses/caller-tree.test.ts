import { describe, expect, it } from "vitest";
import { type CallerNode, callerTree } from "../../../src/explain/analyses/caller-tree.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../../src/profile/model/indices.ts";
import { describeFrame } from "../../../src/show/report/frames.ts";
import { profileOfPicture } from "../../heap-picture.ts";

function drawCallers(profile: HeapProfile): string[] {
  const contexts = Array.from({ length: profile.contexts.length }, (_, row) => row as IndexIntoContextTable);
  const draw = (nodes: readonly CallerNode[], indent: string): string[] =>
    nodes.flatMap(({ frame, value, callers }) => [
      `${indent}${describeFrame(profile, frame).function} ${value}`,
      ...draw(callers, `${indent}  `),
    ]);
  return draw(callerTree(profile, contexts, profile.contexts.mibs.allocCount), "");
}

describe("the callers of a site", () => {
  it("are a tree from the leaf outwards, heaviest first", () => {
    const profile = profileOfPicture(`
      main > run > read > fetch > alloc     3 x 1
      main > run > write > fetch > alloc    5 x 1
      main > init > alloc                   2 x 1
    `);
    expect(drawCallers(profile)).toEqual([
      "fetch 8",
      "  write 5",
      "    run 5",
      "      main 5",
      "  read 3",
      "    run 3",
      "      main 3",
      "init 2",
      "  main 2",
    ]);
  });

  it("join two calls in one function", () => {
    const profile = profileOfPicture(`
      main > run@1 > alloc   3 x 1
      main > run@2 > alloc   4 x 1
    `);
    expect(drawCallers(profile)).toEqual(["run 7", "  main 7"]);
  });

  it("end where a call path ends: the rest of the value was called from outside", () => {
    const profile = profileOfPicture(`
      main > run > alloc   3 x 1
      run > alloc          4 x 1
    `);
    expect(drawCallers(profile)).toEqual(["run 7", "  main 3"]);
  });

  it("stand for any depth of stack", () => {
    const deep = Array.from({ length: 20_000 }, (_, depth) => `f${depth % 50}`).join(" > ");
    const profile = profileOfPicture(`${deep} > alloc  1 x 1`);
    const contexts = [0 as IndexIntoContextTable];
    let depth = 0;
    for (
      let [node] = callerTree(profile, contexts, [1]);
      node !== undefined;
      [node] = node.callers as CallerNode[]
    )
      depth += 1;
    expect(depth).toBe(20_000);
  });
});
