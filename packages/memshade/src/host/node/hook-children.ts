import { ChildProcess } from "node:child_process";
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
