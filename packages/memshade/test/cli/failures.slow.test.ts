import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { MAIN } from "../command.ts";

it.skipIf(process.platform === "win32")("a current folder that was removed is told in a line", () => {
  const script = 'cd "$(mktemp -d)"; rmdir "$PWD"; exec "$@"';
  for (const out of [[], ["--out", "/tmp/memshade-nowhere"]]) {
    const words = [process.execPath, MAIN, "run", ...out, "/bin/true"];
    const { status, stderr } = spawnSync("sh", ["-c", script, "sh", ...words], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: "memshade: the folder that memshade was started in was removed; start it in another one\n",
    });
  }
});
