import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import { isCollected } from "../../../src/profile/model/collected-objects.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import type { RunModule } from "../../../src/profile/model/run.ts";
import { profileOfPicture } from "../../heap-picture.ts";

function withRoles(picture: string, ...roles: string[]): HeapProfile {
  const profile = profileOfPicture(picture, {});
  const functions = roles.map((role, index) => ({ role, index: 1000 + index }));
  const modules = profile.modules.map((module) => ({
    ...module,
    allocator: { ...module.allocator, functions } as RunModule["allocator"],
  }));
  return withOwnSites({ ...profile, modules }, new FrameRules());
}

const leaksOf = (picture: string, ...roles: string[]) =>
  runFindings({ heap: withRoles(picture, ...roles) }).map(({ kind, amount }) => `${kind} ${amount}`);

const COLLECTOR = ["as_new", "as_free"];

describe("a program whose blocks a collector frees", () => {
  it("is known by the functions of its allocator", () => {
    expect(isCollected(withRoles("main > plant  1 x 64", ...COLLECTOR))).toBe(true);
    expect(isCollected(withRoles("main > plant  1 x 64", "malloc", "free"))).toBe(false);
  });

  // 100 blocks allocated at the start of a run of 1,000 allocations live for 950 on average; spread over the run, for 500.
  const others = "main > point  900 x 16  life 9  access 900";

  it("leaks what it goes on allocating to the end, and not what it has had from the start", () => {
    const kept = (life: number) =>
      leaksOf(`main > plant  100 x 64  life ${life}  access 9  peak 100  live 100\n${others}`, ...COLLECTOR);
    expect(kept(500)).toContain("leak 6400");
    // A quarter of the blocks is allocated in the second half of the run: all live for 3/4 × 1,000 + 1/4 × 500 at most.
    expect(kept(875)).toContain("leak 6400");
    expect(kept(876)).not.toContain("leak 6400");
  });

  it("does not leak what the collector has not come to yet", () => {
    const half = `main > plant  100 x 64  life 500  access 9  peak 50  live 50\n${others}`;
    expect(leaksOf(half, ...COLLECTOR)).not.toContain("leak 3200");
    expect(leaksOf(half, "malloc", "free")).toContain("leak 3200");
  });
});
