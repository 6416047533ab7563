import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "../cli/support/command-line.ts";
import { CAN_BUILD, compile } from "./compile.ts";

if (!CAN_BUILD.wasm)
  console.warn("SKIPPED: no compiler for wasm programs, fields that no run reads are not looked for");

/** Two kinds of records whose allocations are called in one line, through the program's own allocation function. */
const SOURCE = `#include <stdlib.h>
#include <string.h>
struct Order { long id; long price; char name[48]; long unused; };
static void *xmalloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
__attribute__((noinline)) struct Order *make(int n) {
  struct Order *o = xmalloc(sizeof(*o) * n);
  for (int i = 0; i < n; i++) { o[i].id = i; o[i].price = i * 3; }
  return o;
}
__attribute__((noinline)) char *index_of(int n) { char *p = xmalloc(n * 24); memset(p, 1, n * 24); return p; }
int main(int c, char **v) {
  int n = c + 99;
  long s = 0;
  for (int r = 0; r < 4; r++) {
    struct Order *o = make(n); char *x = index_of(n); for (int i = 0; i < n; i++) s += o[i].id + x[i]; free(x); free(o);
  }
  return s == 7;
}
`;

describe.skipIf(!CAN_BUILD.wasm)("runs of the waste tool", () => {
  it("give advice that never says that more of a record is unread than it has, nor saves more than all blocks have", async () => {
    const cwd = newFolder();
    const program = compile("wasm", SOURCE, join(cwd, "app.c"));
    const succeed = async (...args: string[]) => {
      const { code, stdout, stderr } = await memshade(args, { cwd });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      return stdout;
    };
    await succeed("run", "--quiet", "--tool", "waste", "--out", "run", program);
    for (const n of ["1", "2"])
      await succeed("store", "add", "--to", "fleet", "--build", "b", "--label", `n=${n}`, "run");
    const { advice } = JSON.parse(await succeed("store", "advise", "fleet", "--json"));
    expect(advice.length).toBeGreaterThan(0);
    for (const { element, fields, saves } of advice) {
      const sizes = fields.map(({ size }: { size: number }) => size);
      expect(sizes.reduce((sum: number, size: number) => sum + size, 0)).toBeLessThanOrEqual(element);
      expect(saves).toBeLessThan(4 * 100 * (60 + 24));
    }
    // Waste is the measure of such runs, and it is the same in each run.
    const { measure, repeatable } = JSON.parse(await succeed("store", "trend", "fleet", "--json"));
    expect({ measure, repeatable }).toEqual({ measure: "dead", repeatable: true });
  });
});
