import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

export function machine(): string {
  const { version } = JSON.parse(
    readFileSync(new URL("../../packages/memshade/package.json", import.meta.url), "utf8"),
  );
  const load = loadavg()
    .map((each) => each.toFixed(1))
    .join(" ");
  const date = new Date().toISOString().slice(0, 10);
  const { node, v8 } = process.versions;
  const processors = `${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"}`;
  return `${date}; memshade ${version}, Node ${node} (V8 ${v8}), ${process.platform} ${process.arch}, ${processors}, load ${load} at the start.`;
}
