import { describe, expect, it } from "vitest";
import {
  buildIdFileCandidates,
  debugAltLinkCandidates,
  debugLinkCandidates,
  dwoCandidates,
  dwpCandidates,
} from "../../../src/code/objects/index.ts";

describe("separate debug files are looked for", () => {
  it("by build id in every debug directory", () => {
    const debugDirectories = ["/usr/lib/debug", "symbols/"];
    expect(buildIdFileCandidates("abcdef01", { debugDirectories })).toEqual([
      "/usr/lib/debug/.build-id/ab/cdef01.debug",
      "symbols/.build-id/ab/cdef01.debug",
    ]);
    expect(buildIdFileCandidates("ab")).toEqual([]);
    expect(buildIdFileCandidates("../../etc/passwd")).toEqual([]);
  });

  it("by link beside the object, in .debug, and at its place below the debug directories", () => {
    expect(debugLinkCandidates("/usr/bin/ls", "ls.debug")).toEqual([
      "/usr/bin/ls.debug",
      "/usr/bin/.debug/ls.debug",
      "/usr/lib/debug/usr/bin/ls.debug",
    ]);
    expect(debugLinkCandidates("ls", "ls.debug")).toEqual(["ls.debug", ".debug/ls.debug"]);
  });

  it("never in the object itself", () => {
    expect(debugLinkCandidates("/bin/a.debug", "a.debug")).toEqual([
      "/bin/.debug/a.debug",
      "/usr/lib/debug/bin/a.debug",
    ]);
  });

  it("inside of a sysroot first", () => {
    const places = { sysroot: "/mnt/target/" };
    expect(debugLinkCandidates("/mnt/target/bin/a", "a.debug", places)).toEqual([
      "/mnt/target/bin/a.debug",
      "/mnt/target/bin/.debug/a.debug",
      "/mnt/target/usr/lib/debug/bin/a.debug",
      "/usr/lib/debug/bin/a.debug",
    ]);
    expect(buildIdFileCandidates("0a1b", places)[0]).toBe("/mnt/target/usr/lib/debug/.build-id/0a/1b.debug");
  });

  it("shared ones by path or build id", () => {
    const link = { name: "../../.dwz/common.debug", buildId: "1234" };
    expect(debugAltLinkCandidates("/usr/lib/debug/a.debug", link)).toEqual([
      "/usr/lib/debug/../../.dwz/common.debug",
      "/usr/lib/debug/.build-id/12/34.debug",
    ]);
  });

  it("split ones where the compiler wrote them, or beside the object", () => {
    expect(dwoCandidates("/opt/prog", "obj/a.dwo", "/build")).toEqual([
      "/build/obj/a.dwo",
      "/opt/obj/a.dwo",
      "/opt/a.dwo",
    ]);
    expect(dwoCandidates("prog", "/build/a.dwo", "/build")).toEqual(["/build/a.dwo", "a.dwo"]);
    expect(dwpCandidates("/opt/prog")).toEqual(["/opt/prog.dwp"]);
  });
});
