import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** A process, told apart from later ones that have its id and from those of other machines. */
interface ProcessIdentity {
  pid: number;
  host: string;
  /** When it started, in the system's words; "" where the system does not tell. */
  started: string;
}

let own: string | undefined;

/** This process, as a line of text that `isRunning` understands in another one. */
export function ownIdentity(): string {
  own ??= JSON.stringify({
    pid: process.pid,
    host: hostname(),
    started: startOf(process.pid) ?? "",
  } satisfies ProcessIdentity);
  return own;
}

/**
 * Whether the process that `identity` names may be running still. True for those of other machines that share the file
 * system: nobody here can tell. Undefined if the text names none.
 */
export function isRunning(identity: string): boolean | undefined {
  const named = parse(identity);
  if (named === undefined) return undefined;
  if (named.host !== hostname()) return true;
  if (!isProcess(named.pid)) return false;
  const started = startOf(named.pid);
  return started !== undefined && (named.started === "" || started === "" || started === named.started);
}

/** For messages: "process 12", or "process 12 on another-machine". */
export function describeProcess(identity: string): string {
  const named = parse(identity);
  if (named === undefined) return "a process";
  return `process ${named.pid}${isOfThisMachine(identity) ? "" : ` on ${named.host}`}`;
}

export function isOfThisMachine(identity: string): boolean {
  return parse(identity)?.host === hostname();
}

/** Whether there is a process with this id that has not ended. */
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
    const { pid, host, started } = JSON.parse(identity) as Partial<ProcessIdentity>;
    const isOne = Number.isSafeInteger(pid) && pid! > 0 && typeof host === "string";
    return isOne && typeof started === "string" ? { pid: pid!, host, started } : undefined;
  } catch {
    return undefined;
  }
}

/** When a process started; "" if the system does not tell; undefined if it has ended and only waits for its parent. */
function startOf(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      // The name of the program, in parentheses, may hold anything.
      const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
        .replace(/^.*\) /s, "")
        .split(" ");
      if (fields[0] === "Z" || fields[0] === "X") return undefined;
      return `${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()} ${fields[19]}`;
    } catch {
      return "";
    }
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
