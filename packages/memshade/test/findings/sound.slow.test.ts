import { describe, expect, it } from "vitest";
import { newFolder } from "../cli/support/command-line.ts";
import { firstScreen } from "./first-screen.ts";
import { KNOWN_FAILURES } from "./known-failures.ts";
import { SOUND } from "./planted.ts";

describe("who reads the first screen of a report", () => {
  const folder = newFolder();

  it.concurrent.each(SOUND)("is told nothing of %s", async (program) => {
    const screen = await firstScreen(program, folder);
    const isQuiet = /^No findings$/m.test(screen);
    const known = KNOWN_FAILURES[program];
    expect({ isQuiet, known, screen }).toEqual({ isQuiet: known === undefined, known, screen });
  });
});
