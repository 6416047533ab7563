import { describe, it } from "vitest";
import { newFolder } from "../cli/support/command-line.ts";
import { firstScreen } from "./first-screen.ts";
import { KNOWN_FAILURES } from "./known-failures.ts";
import { SOUND } from "./planted.ts";

describe.concurrent("who reads the first screen of a report", () => {
  const folder = newFolder();

  it.for(SOUND)("is told nothing of %s", async (program, { expect, skip }) => {
    const screen = await firstScreen(program, folder);
    const isQuiet = /^No findings(?: among .*)?$/m.test(screen);
    const reason = KNOWN_FAILURES[program];
    if (!isQuiet && reason !== undefined) skip(reason);
    expect({ isQuiet, screen }).toEqual({ isQuiet: true, screen });
  });
});
