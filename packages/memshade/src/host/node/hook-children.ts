import childProcess, { ChildProcess } from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { replaceFunction } from "../instance/replace-property.ts";

/**
 * Reports signals that the program sends to its children: a hooked child that is busy sees them only when its event
 * loop comes round, so its recording thread has to hear of them another way.
 */
export function hookChildProcesses(onKill: (pid: number, signal: string) => void): void {
  replaceFunction(ChildProcess.prototype, "kill", {
    apply(target, self: ChildProcess, args) {
      const delivered = Reflect.apply(target, self, args);
      const signal = args[0] ?? "SIGTERM";
      if (delivered && self.pid !== undefined && typeof signal === "string") onKill(self.pid, signal);
      return delivered;
    },
  });
}

/** Reports that the program starts another process, at the first time. */
export function hookFirstChild(onStart: () => void): void {
  let isTold = false;
  const handler = {
    apply(target: (...args: unknown[]) => unknown, self: unknown, args: unknown[]) {
      if (!isTold) onStart();
      isTold = true;
      return Reflect.apply(target, self, args);
    },
  };
  // Where all that do not wait for the end of their process come by.
  replaceFunction(ChildProcess.prototype, "spawn", handler);
  for (const name of ["spawnSync", "execSync", "execFileSync"]) replaceFunction(childProcess, name, handler);
  syncBuiltinESMExports();
}
