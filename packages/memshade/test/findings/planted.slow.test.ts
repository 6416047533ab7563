import { describe, expect, it } from "vitest";
import { newFolder } from "../cli/support/command-line.ts";
import { firstScreen } from "./first-screen.ts";
import { answers, findingsOn, markedPlace } from "./judge.ts";
import { KNOWN_FAILURES } from "./known-failures.ts";
import { PROBLEMS } from "./planted.ts";

describe("who reads the first screen of a report", () => {
  const folder = newFolder();

  it.concurrent.each(PROBLEMS)("finds what is wrong with $source", async (problem) => {
    const screen = await firstScreen(problem.program, folder);
    const place = markedPlace(problem.source);
    const isFound = findingsOn(screen).some((finding) => answers(finding, problem, place));
    const known = KNOWN_FAILURES[problem.source];
    expect({ isFound, known, screen }).toEqual({ isFound: known === undefined, known, screen });
  });
});
