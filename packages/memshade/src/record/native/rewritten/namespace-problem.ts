import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { errorInWords } from "../start/error-in-words.ts";
import type { StartFailure } from "../start/start-program.ts";
import { type Namespace, STEP } from "./enter-namespace.ts";

/** Files that managers of containers put into these. */
const OF_CONTAINERS = [".dockerenv", "run/.containerenv"];
const IN_CONTAINER =
  "start the container with --cap-add SYS_ADMIN, and with --security-opt apparmor=unconfined where AppArmor forbids to mount";
/** Settings that forbid namespaces of users, and what they have then. */
const SETTINGS = [
  { name: "kernel.apparmor_restrict_unprivileged_userns", forbids: "1", allows: "0" },
  { name: "kernel.unprivileged_userns_clone", forbids: "0", allows: "1" },
  { name: "user.max_user_namespaces", forbids: "0", allows: "10000" },
];

/**
 * Why a program was not started in a namespace and what helps, in a line; undefined for what has nothing to do with that.
 *
 * @param root of the file system
 */
export function namespaceProblem(
  { step, error }: StartFailure,
  { mounts }: Namespace,
  root = "/",
): string | undefined {
  if (step < STEP.unshare) return undefined;
  return `${refusal({ step, error }, mounts)}: ${remedy(error, root)}, or ${WITHOUT}`;
}

/** Whether the system may well refuse one: by a filter of system calls, as containers have them, or by a setting. */
export function isNamespaceDoubtful(root = "/"): boolean {
  const status = readFileSync(join(root, "proc/self/status"), "latin1");
  if (!/^Seccomp:\s*0$/m.test(status)) return true;
  return process.geteuid?.() !== 0 && SETTINGS.some(({ name, forbids }) => settingOf(name, root) === forbids);
}

/** What a run lacks whose program was started without a namespace, in a line. */
export function withoutNamespace(failure: StartFailure, { mounts }: Namespace): string {
  return `${refusal(failure, mounts)}: the dynamic linker loads rewritten files by itself, /proc/self/exe leads to a copy of the program, and programs that it starts run as they are`;
}

function refusal({ step, error }: StartFailure, mounts: Namespace["mounts"]): string {
  const refused = step >= STEP.mount ? `does not let ${mounts[step - STEP.mount]?.path} be replaced` : NONE;
  const reason = error === constants.errno.ENOSPC ? "it has as many as it allows" : errorInWords(error);
  return `the system ${refused} (${reason})`;
}

export const WITHOUT = "run it without --tool, which records its allocations alone";
const NONE = "gives out no namespace in which rewritten files can stand in the place of others";

function remedy(error: number, root: string): string {
  const { ENOENT, EBUSY, ENOSPC } = constants.errno;
  if (error === ENOENT || error === EBUSY) return "try again, as files have changed";
  if (error !== ENOSPC && OF_CONTAINERS.some((name) => existsSync(join(root, name)))) return IN_CONTAINER;
  const forbids = SETTINGS.find(({ name, forbids: value }) => settingOf(name, root) === value);
  if (forbids !== undefined) return `sudo sysctl ${forbids.name}=${forbids.allows} allows it, as does root`;
  return "run memshade as root";
}

function settingOf(name: string, root: string): string | undefined {
  try {
    return readFileSync(join(root, "proc/sys", name.replace(".", "/")), "latin1").trim();
  } catch {
    return undefined;
  }
}
