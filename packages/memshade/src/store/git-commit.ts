import { spawnSync } from "node:child_process";

export interface KnownCommit {
  readonly id: string;
  /** Milliseconds since 1970; undefined if git does not have the commit. */
  readonly time: number | undefined;
}

/** Variables in which CI services (GitHub, GitLab) name the built commit. */
const VARIABLES = ["GITHUB_SHA", "CI_COMMIT_SHA"];

/** Returns the named commit, or the one built here; undefined outside of a repository. */
export function commitOf(named: string | undefined, environment: NodeJS.ProcessEnv): KnownCommit | undefined {
  const commit =
    named ?? VARIABLES.map((name) => environment[name]).find((value) => value !== undefined && value !== "");
  const answer = git([
    "log",
    "-1",
    "--format=%H %ct",
    commit === undefined ? "HEAD" : `${commit}^{commit}`,
    "--",
  ]);
  const [id, seconds] = answer?.split(" ") ?? [];
  if (id !== undefined && seconds !== undefined) return { id, time: Number(seconds) * 1000 };
  return commit === undefined ? undefined : { id: commit, time: undefined };
}

function git(args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return status === 0 ? stdout.trim() : undefined;
}
