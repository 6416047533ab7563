import { describe, expect, it } from "vitest";
import { checkLimits } from "../../../../src/record/native/start/check-limits.ts";

const limits = (
  addresses: string,
  file: string,
) => `Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max file size             ${file}            unlimited            bytes
Max address space         ${addresses}            unlimited            bytes
`;

describe("limits of the process", () => {
  it("are none, or leave room to record", () => {
    expect(() => checkLimits(limits("unlimited", "unlimited"))).not.toThrow();
    expect(() => checkLimits(limits(`${2 ** 40}`, `${2 ** 33}`))).not.toThrow();
    expect(() => checkLimits("")).not.toThrow();
  });

  it("are told of where they do not, with what sets them", () => {
    expect(() => checkLimits(limits("2147483648", "unlimited"))).toThrow(
      /ulimit -v is 2147483648 bytes, and recording reserves 6 GiB/,
    );
    expect(() => checkLimits(limits("unlimited", "4096"))).toThrow(/ulimit -f is 4096 bytes/);
  });

  it("have to leave room for what counts accesses, where that is inserted", () => {
    expect(() => checkLimits(limits(`${2 ** 45}`, "unlimited"), 2 ** 46)).toThrow(
      /ulimit -v is 35184372088832 bytes, and counting accesses reserves 64 TiB .* without --tool/,
    );
    expect(() => checkLimits(limits("unlimited", "unlimited"), 2 ** 46)).not.toThrow();
  });
});
