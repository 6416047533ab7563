import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const MODULE = new URL("../../../../src/record/host/run/die-by-signal.ts", import.meta.url).href;

describe.skipIf(process.platform === "win32")("a process that dies by the signal of its program", () => {
  it.each([
    "SIGTERM",
    "SIGSEGV",
    "SIGKILL",
    "SIGUSR2",
    // Node ignores SIGPIPE, and starts a debugger on the next signal.
    "SIGPIPE",
    "SIGUSR1",
  ])("shows it to its parent: %s", (name) => {
    const source = `import { dieBySignal } from ${JSON.stringify(MODULE)}; dieBySignal("${name}");`;
    const { signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", source], {
      encoding: "utf8",
    });
    expect({ signal, stderr }).toEqual({ signal: name, stderr: "" });
  });

  it.each([
    [
      "what was prepared is given up",
      "unlessSignalled(busy).catch(() => console.error('given up'))",
      "given up",
    ],
    ["whoever listens next meets it", "busy(); onSignals({ SIGTERM: () => console.error('met') })", "met"],
    ["nobody listens, and it says so", "busy()", "memshade: ended by SIGTERM before anything was recorded"],
  ])("meets one that came while its thread was busy: %s", (_who, statements, said) => {
    const source = `
      import { endEarly, onSignals, unlessSignalled } from ${JSON.stringify(MODULE)};
      // Node has not looked for signals when that is done.
      const busy = async () => void process.kill(process.pid, "SIGTERM");
      endEarly();
      ${statements};
      setTimeout(() => {}, 300);`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", source], {
      encoding: "utf8",
    });
    expect(stderr).toBe(`${said}\n`);
  });

  it.skipIf(process.platform !== "linux")(
    "leaves no core, which would be in the place of the program's",
    () => {
      const source = `import { dieBySignal } from ${JSON.stringify(MODULE)}; dieBySignal("SIGSEGV");`;
      const folder = mkdtempSync(join(tmpdir(), "memshade-core-"));
      const script = 'ulimit -c unlimited 2> /dev/null; exec "$@"';
      const words = ["-c", script, "sh", process.execPath, "--input-type=module", "-e", source];
      const { signal } = spawnSync("sh", words, { cwd: folder });
      expect({ signal, left: readdirSync(folder) }).toEqual({ signal: "SIGSEGV", left: [] });
      rmSync(folder, { recursive: true });
    },
  );
});
