import { describe, it } from "vitest";
import { newFolder } from "../cli/support/command-line.ts";
import { firstScreen } from "./first-screen.ts";
import { answers, findingsOn, markedPlace } from "./judge.ts";
import { KNOWN_FAILURES } from "./known-failures.ts";
import { PROBLEMS } from "./planted.ts";

describe.concurrent("who reads the first screen of a report", () => {
  const folder = newFolder();

  it.for(PROBLEMS)("finds what is wrong with $source: $kinds", async (problem, { expect, skip }) => {
    const screen = await firstScreen(problem.program, folder);
    const place = markedPlace(problem.source, problem.problem);
    const isFound = findingsOn(screen).some((finding) => answers(finding, problem, place));
    const reason = KNOWN_FAILURES[problem.source];
    if (!isFound && reason !== undefined) skip(reason);
    expect({ isFound, screen }).toEqual({ isFound: true, screen });
  });
});
