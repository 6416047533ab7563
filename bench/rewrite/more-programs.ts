import { existsSync } from "node:fs";
import type { NativeProgram } from "../native/programs.ts";

const installed = (
  name: string,
  packageName: string,
  path: string,
  args: readonly string[],
  input?: string,
) => ({
  name,
  package: packageName,
  command: () => (existsSync(path) ? [path, ...args] : undefined),
  ...(input === undefined ? {} : { input }),
});

const LUA = `
local t = {}
for i = 1, 200000 do t[i] = {n = (i * 7919) % 100003, s = "k" .. i % 977} end
table.sort(t, function(a, b) return a.n < b.n end)
local c = {}
for _, v in ipairs(t) do c[v.s] = (c[v.s] or 0) + v.n end
local n = 0
for k, v in pairs(c) do n = n + v % 13 end
print(n, string.rep("x", 10):gsub("x", "yz"))`;
const LINES = Array.from({ length: 200_000 }, (_, i) => `${(i * 7919) % 100_003} line ${i}`).join("\n");

/** More programs of Debian than those whose time is measured: what rewriting must not change, and where they run then. */
export const MORE_PROGRAMS: readonly NativeProgram[] = [
  installed("lua5.4", "lua5.4", "/usr/bin/lua5.4", ["-e", LUA]),
  installed("sort", "coreutils", "/usr/bin/sort", ["-k", "1n"], LINES),
  installed("gzip", "gzip", "/usr/bin/gzip", ["-c", "-n"], LINES),
  installed("xz", "xz-utils", "/usr/bin/xz", ["-c", "-1", "-T1"], LINES),
  installed(
    "gawk",
    "gawk",
    "/usr/bin/gawk",
    ["{ n[$1 % 97] += $3 * length($2) } END { for (k in n) s += n[k] % 7; print s }"],
    LINES,
  ),
  installed("openssl", "openssl", "/usr/bin/openssl", ["dgst", "-sha3-256"], LINES.repeat(8)),
  installed("bash", "bash", "/usr/bin/bash", [
    "-c",
    "for ((i = 0; i < 200000; i++)); do s=$((s + i * i % 7)); done; echo $s",
  ]),
];
