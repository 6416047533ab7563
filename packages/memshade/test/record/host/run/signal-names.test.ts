import { expect, it } from "vitest";
import { signalName, signalNumber } from "../../../../src/record/host/run/die-by-signal.ts";

it("signals have names and numbers, those without a fixed meaning too", () => {
  expect([15, 6, 34, 37, 64, 32].map(signalName)).toEqual([
    "SIGTERM",
    "SIGABRT",
    "SIGRTMIN+0",
    "SIGRTMIN+3",
    "SIGRTMIN+30",
    "SIG32",
  ]);
  for (let number = 1; number <= 64; number++)
    expect([number, 0]).toContain(signalNumber(signalName(number)));
  expect(signalNumber("SIGRTMIN+3")).toBe(37);
});
