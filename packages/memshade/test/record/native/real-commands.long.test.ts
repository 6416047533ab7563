import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { canCompile } from "./support/record.ts";

const MEMSHADE = fileURLToPath(new URL("../../../bin/memshade.js", import.meta.url));
const isBuilt = existsSync(fileURLToPath(new URL("../../../dist/main.js", import.meta.url)));
if (!isBuilt) console.warn("SKIPPED: the package is not built: its command does not start");

const TOOLS = ["alloc", "heap", "waste", "workingset"] as const;
/** Rewriting a program and its libraries takes time, the first time only. */
const MOST_MS = 240_000;

const FASTA = ">one\nACGTACGTTAGC\n>two\nGGGTTTACCA\n";
const SAM = [
  "@SQ\tSN:one\tLN:12",
  ...Array.from(
    { length: 2000 },
    (_, i) => `r${(i * 7919) % 2000}\t0\tone\t${1 + (i % 8)}\t60\t4M\t*\t0\t0\tACGT\tIIII`,
  ),
  "",
].join("\n");
const HTML = "<html><head><title>x</title><body><p>one<p>two<b>three</p><table><tr><td>4";
/** At most two jobs at a time, which make limits by a pipe that its children inherit. */
const MAKEFILE = [
  "all: a b c d",
  "%:\n\t@echo $@ >$@; case '$(MAKEFLAGS)' in *jobserver*) echo jobserver >>$@ ;; esac",
  "sub:\n\t@+$(MAKE) -s all && cat a b c d",
  "",
].join("\n");

const REDIS = [
  'redis-server --port 0 --unixsocket "$PWD/s" --save "" --daemonize no --loglevel warning >/dev/null & server=$!',
  'until redis-cli -s "$PWD/s" ping >/dev/null 2>&1; do sleep 0.05; done',
  'redis-benchmark -s "$PWD/s" -n 2000 -c 5 -q -t set,get,lpush,hset,zadd >/dev/null',
  'redis-cli -s "$PWD/s" set answer 42; redis-cli -s "$PWD/s" get answer; redis-cli -s "$PWD/s" llen mylist',
  'redis-cli -s "$PWD/s" shutdown nosave; wait $server; echo "server $?"',
];

interface Command {
  needs: string;
  /** Lines of a shell script; `RUN` is replaced by the recorded command. */
  lines: string;
}

const COMMANDS: readonly Command[] = [
  { needs: "calc", lines: "RUN calc -p '2^200; sqrt(2); fact(30)'" },
  { needs: "tidy", lines: "RUN tidy -q -e x.html 2>&1; RUN tidy -h | head -5" },
  {
    needs: "samtools",
    lines: "RUN samtools faidx x.fa two; RUN samtools sort -O sam x.sam | grep -v ^@PG | md5sum",
  },
  {
    needs: "maxima",
    lines: "RUN maxima --very-quiet --batch-string='print(factor(2^67-1)); integrate(x^2*sin(x),x);'",
  },
  { needs: "redis-benchmark", lines: REDIS.join("\n").replace("redis-server", "RUN redis-server") },
  { needs: "make", lines: "rm -f a b c d; RUN make -s -j2 sub; echo $?" },
  { needs: "nohup", lines: "nohup RUN sh -c 'kill -HUP $$; echo survived; exit 5'; echo $?" },
];

describe.skipIf(!canCompile || !isBuilt)("commands of Debian do as they do alone", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-commands-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const files = { "x.fa": FASTA, "x.sam": SAM, "x.html": HTML, Makefile: MAKEFILE };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);

  function outcome(lines: string, run: string) {
    const env = { ...process.env, LC_ALL: "C", HOME: folder };
    const { status, signal, stdout } = spawnSync(
      // `timeout` ends a hanging command with all its children, before it fills the machine's memory.
      "timeout",
      ["-k", "3", "120", "bash", "-c", lines.replaceAll("RUN ", run)],
      { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
    );
    return { status, signal, stdout };
  }

  for (const { needs, lines } of COMMANDS)
    describe(needs, () => {
      const isThere = spawnSync("sh", ["-c", `command -v ${needs}`], { stdio: "ignore" }).status === 0;
      if (!isThere) console.warn(`SKIPPED: ${needs} is not installed: it is not recorded`);
      it.skipIf(!isThere).each(TOOLS)(
        "with --tool %s",
        (tool) => {
          const alone = outcome(lines, "");
          expect(alone.stdout).not.toBe("");
          const run = `"${MEMSHADE}" run --quiet --out run-%p --tool ${tool} -- `;
          expect(outcome(lines, run)).toEqual(alone);
        },
        MOST_MS,
      );
    });
});
