import { expect, it } from "vitest";
import { FrameRules } from "../../../../src/explain/analyses/frames/frame-rules.ts";
import { markWaste, markWorkingSet } from "../../../../src/explain/analyses/frames/mark-frames.ts";
import { wasteToolFindings } from "../../../../src/explain/findings/run-findings.ts";
import type { RunModule } from "../../../../src/profile/model/run.ts";
import type { WasteFile } from "../../../../src/profile/model/waste.ts";
import type { WorkingSetProfile } from "../../../../src/profile/model/working-set/working-set.ts";
import { store, wasteOf } from "../waste/waste-picture.ts";

const MODULE = { path: "/app/node_modules/photon/photon.wasm" } as RunModule;

/** A store of a named function, all of whose bytes are dead. */
const picture = (): WasteFile =>
  wasteOf({
    stores: [store("resize", 1, { bytes_written: 65536, nof_stores: 16384, dead_overwritten: 65536 })],
  });

it("what a package's module wastes under a script is none of the program's own code", () => {
  const [alone, ofPackage] = [picture(), picture()];
  markWaste(alone, new FrameRules());
  markWaste(ofPackage, new FrameRules(), [MODULE]);
  expect(wasteToolFindings(alone)).toHaveLength(1);
  expect(ofPackage.stores[0]!.ips[0]!.library).toMatch(/photon/);
  expect(wasteToolFindings(ofPackage)).toEqual([]);
});

it("it is where the user says so", () => {
  const file = picture();
  markWaste(file, new FrameRules({ own: ["photon.wasm"] }), [MODULE]);
  expect(file.stores[0]!.ips[0]!.library).toBeUndefined();
});

it("shared libraries of native programs are known by their names, whatever their source is called", () => {
  const file: WasteFile = {
    ...picture(),
    modules: [{ index: 0, name: "libc.so.6", buildId: "00" }],
  };
  markWaste(file, new FrameRules());
  expect(file.stores[0]!.ips[0]!.library).toBe("the C library");

  const frame = { function: 0, name: "_int_malloc", file: "malloc.c", module: "libc.so.6" };
  const profile = {
    modules: [],
    instances: [{ module: 0, stacks: [[frame, { ...frame, module: "server" }]] }],
  } as unknown as WorkingSetProfile;
  markWorkingSet(profile, new FrameRules());
  expect(profile.instances[0]!.stacks[0]!.map(({ library }) => library)).toEqual([
    "the C library",
    undefined,
  ]);
});
