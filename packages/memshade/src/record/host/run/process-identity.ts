import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identity of a process, different from later ones with the same id and from those of other machines. */
interface ProcessIdentity {
  pid: number;
  host: string;
  /** Start time, as the system writes it; "" if unknown. */
  started: string;
  /** Namespace of its id: containers have namespaces of ids. "" if unknown. */
  namespace: string;
}

/** Namespace of the system's first processes, in which all others are visible. */
const FIRST_NAMESPACE = "pid:[4026531836]";

let identityText: string | undefined;

/** Returns this process as a line of text, for `isRunning` in other processes. */
export function ownIdentity(): string {
  identityText ??= JSON.stringify({
    pid: process.pid,
    host: hostname(),
    started: startOf(process.pid) ?? "",
    namespace: ownNamespace(),
  } satisfies ProcessIdentity);
  return identityText;
}

/**
 * True if the process named by `identity` may still be running. True for other machines and containers that share the
 * file system, since their processes cannot be checked. Undefined if the text names no process.
 */
export function isRunning(identity: string): boolean | undefined {
  const named = parse(identity);
  if (named === undefined) return undefined;
  if (named.host !== hostname()) return true;
  if (named.namespace !== ownNamespace()) return isRunningElsewhere(named);
  if (!isProcess(named.pid)) return false;
  const started = startOf(named.pid);
  return started !== undefined && (named.started === "" || started === "" || started === named.started);
}

/** Describes a process for messages: "process 12", or "process 12 on another-machine". */
export function describeProcess(identity: string): string {
  const named = parse(identity);
  if (named === undefined) return "a process";
  const place = named.host === hostname() ? " in another container" : ` on ${named.host}`;
  return `process ${named.pid}${isSeenFromHere(identity) ? "" : place}`;
}

/** True if a process can be checked from here: it is on this machine and, if there are several, in this container. */
export function isSeenFromHere(identity: string): boolean {
  const named = parse(identity);
  return named?.host === hostname() && [named.namespace, FIRST_NAMESPACE].includes(ownNamespace());
}

let namespaceName: string | undefined;

export function ownNamespace(): string {
  if (namespaceName === undefined)
    try {
      namespaceName = readlinkSync("/proc/self/ns/pid");
    } catch {
      namespaceName = "";
    }
  return namespaceName;
}

/**
 * Checks a process in another namespace. All processes are visible from the first namespace; start times are the same
 * in all.
 */
function isRunningElsewhere({ pid, started, namespace }: ProcessIdentity): boolean {
  const [boot] = started.split(" ");
  if (boot !== "" && boot !== bootId()) return false;
  if (ownNamespace() !== FIRST_NAMESPACE || namespace === "" || started === "") return true;
  return readdirSync("/proc").some(
    (name) => /^\d+$/.test(name) && startOf(Number(name)) === started && idsOf(name).at(-1) === String(pid),
  );
}

/** Returns the ids of a process in its namespaces, the innermost one last. */
function idsOf(pid: string): string[] {
  try {
    const [, ids = ""] = /^NSpid:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return ids.split(/\s+/);
  } catch {
    return [];
  }
}

function bootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
}

export function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return startOf(pid) !== undefined;
}

function parse(identity: string): ProcessIdentity | undefined {
  try {
    const { pid, host, started, namespace } = JSON.parse(identity) as Partial<ProcessIdentity>;
    const isOne = Number.isSafeInteger(pid) && pid! > 0 && typeof host === "string";
    if (!isOne || typeof started !== "string") return undefined;
    // Earlier versions did not write the namespace.
    return {
      pid: pid!,
      host,
      started,
      namespace: typeof namespace === "string" ? namespace : ownNamespace(),
    };
  } catch {
    return undefined;
  }
}

/** Returns the start time of a process; "" if unknown; undefined if it has ended and only waits for its parent. */
function startOf(pid: number): string | undefined {
  if (process.platform === "linux")
    try {
      // The program's name in parentheses may contain any character.
      const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
        .replace(/^.*\) /s, "")
        .split(" ");
      if (fields[0] === "Z" || fields[0] === "X") return undefined;
      return `${bootId()} ${fields[19]}`;
    } catch {
      return "";
    }
  if (process.platform === "win32") return "";
  try {
    const line = execFileSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], {
      encoding: "latin1",
      env: { ...process.env, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [, state, started] = /^\s*(\S+)\s+(.*?)\s*$/.exec(line) ?? [];
    return state?.startsWith("Z") ? undefined : (started ?? "");
  } catch {
    return "";
  }
}
