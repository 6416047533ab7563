import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "../cli/support/command-line.ts";
import { CAN_BUILD, compile } from "./compile.ts";

for (const [target, canBuild] of Object.entries(CAN_BUILD))
  if (!canBuild) console.warn(`SKIPPED: no compiler for ${target} programs, none is built anew for a store`);

const SOURCE = `#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char *name; };
__attribute__((noinline)) static char *copy(const char *s) {
  char *p = malloc(strlen(s) + 1);
  strcpy(p, s);
  return p;
}
__attribute__((noinline)) static struct node *push(struct node *head, const char *name) {
  struct node *n = malloc(sizeof *n);
  n->next = head;
  n->name = copy(name);
  return n;
}
__attribute__((noinline)) static int work(int k) {
  char *buf = malloc(100 * k);
  memset(buf, k, 100 * k);
  int s = buf[k];
  free(buf);
  return s;
}
int main(void) {
  struct node *h = 0;
  for (int i = 0; i < 50; i++) h = push(h, "hello");
  int s = 0;
  for (int i = 1; i < 20; i++) s += work(i);
  return s == -1 || h == 0;
}
`;
const ABOVE = `/* The\n * program. */\n\n${SOURCE}`;
const NEW_FUNCTION = SOURCE.replace("int main(", "int unused(int a) {\n  return a + 1;\n}\n\nint main(");
const INSIDE = SOURCE.replaceAll(/\) \{\n/g, ") {\n  (void)0;\n");
const GROWN = INSIDE.replace("malloc(100 * k)", "malloc(110 * k)");

async function succeed(args: readonly string[], cwd: string): Promise<string> {
  const { code, stderr, stdout } = await memshade(args, { cwd });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

/** A store with one run per build; each build was compiled in a folder of its own. */
async function storeOf(target: keyof typeof CAN_BUILD, builds: Record<string, readonly [string, string]>) {
  const cwd = newFolder();
  for (const [build, [source, file]] of Object.entries(builds)) {
    const program = compile(target, source, join(cwd, file));
    await succeed(["run", "--quiet", "--out", `run-${build}`, program], cwd);
    await succeed(["store", "add", "--to", "fleet", "--build", build, `run-${build}`], cwd);
  }
  return cwd;
}

/** Number of contexts of each build that the first build has too, by key. */
async function shared(cwd: string, key: "ctx" | "ctx_functions"): Promise<Record<string, number>> {
  const of = `select r.build, c.${key} as part from metrics as m join runs as r on r.run = m.run join contexts as c on c.ctx = m.ctx`;
  const sql = `select a.build, count(b.part) as shared from (${of}) as a left join (${of} where r.build = 'first') as b on b.part = a.part group by a.build`;
  const rows = JSON.parse(await succeed(["store", "query", "fleet", sql, "--json"], cwd));
  return Object.fromEntries(
    rows.map(({ build, shared: n }: { build: string; shared: number }) => [build, n]),
  );
}

describe.each(["wasm", "native"] as const)("keys of a %s program", (target) => {
  const builds = {
    first: [SOURCE, "checkout/app.c"],
    elsewhere: [SOURCE, "home/somebody/else/app.c"],
    above: [ABOVE, "checkout-2/app.c"],
    function: [NEW_FUNCTION, "checkout-3/app.c"],
    inside: [INSIDE, "checkout-4/app.c"],
  } as const;

  it.skipIf(!CAN_BUILD[target])(
    "survive what does not touch its functions, and functions match the rest",
    async () => {
      const cwd = await storeOf(target, builds);
      expect(await shared(cwd, "ctx")).toEqual({ first: 3, elsewhere: 3, above: 3, function: 3, inside: 0 });
      expect(await shared(cwd, "ctx_functions")).toEqual({
        first: 3,
        elsewhere: 3,
        above: 3,
        function: 3,
        inside: 3,
      });
      expect(await succeed(["store", "trend", "fleet", "--by", "bytes"], cwd)).toMatch(
        /^Nothing has changed/m,
      );
    },
  );

  it.skipIf(!CAN_BUILD[target])(
    "let a trend name what grew although all lines moved, and say how it was found",
    async () => {
      const cwd = await storeOf(target, { first: builds.first, grown: [GROWN, "checkout-2/app.c"] });
      const { steps } = JSON.parse(
        await succeed(["store", "trend", "fleet", "--by", "bytes", "--json"], cwd),
      );
      expect(steps).toMatchObject([
        { build: "grown", now: steps[0].before + 1900, parts: [{ matched: "by function" }] },
      ]);
      expect(steps[0].parts[0].frames[0].function).toBe("work");
      const text = await succeed(["store", "trend", "fleet", "--by", "bytes"], cwd);
      expect(text).toMatch(/ +\+1\.86 KiB +1\.10x {2}work \(app\.c:\d+\)/);
      expect(text).toMatch(/1 path matched by function: lines have moved inside of it/);
    },
  );
});
