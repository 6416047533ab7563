import { pathToFileURL } from "node:url";
import { Digest, embeddedIn, packageFile, runAsScript, sequence, type Workload } from "./workload.ts";

const entry = () => packageFile("yoga-layout", "dist/src/load.js");

/** Yoga: C++; a page of nested flexible boxes, laid out again and again for other widths. */
export const yoga: Workload = {
  name: "yoga",
  files: () => embeddedIn(entry()),
  load: async () => {
    const { loadYoga } = await import(pathToFileURL(entry()).href);
    const Yoga = await loadYoga();
    return {
      run: (scale) => {
        const next = sequence(5);
        const digest = new Digest();
        // biome-ignore lint/suspicious/noExplicitAny: the package's types need its ESM entry
        const nodes: any[] = [];
        const build = (depth: number) => {
          const node = Yoga.Node.create();
          nodes.push(node);
          node.setFlexDirection(depth % 2 === 0 ? Yoga.FLEX_DIRECTION_ROW : Yoga.FLEX_DIRECTION_COLUMN);
          node.setFlexWrap(next(3) === 0 ? Yoga.WRAP_WRAP : Yoga.WRAP_NO_WRAP);
          node.setFlexGrow(next(3));
          node.setFlexShrink(1);
          node.setPadding(Yoga.EDGE_ALL, next(5));
          node.setMargin(Yoga.EDGE_LEFT, next(4));
          if (depth === 0) {
            node.setWidth(10 + next(50));
            node.setMinHeight(8 + next(20));
          } else
            for (let child = 0; child < 3 + next(3); child++)
              node.insertChild(build(depth - 1), node.getChildCount());
          return node;
        };
        const root = build(scale === "full" ? 4 : 2);
        for (let width = 300; width < (scale === "full" ? 900 : 400); width += 50) {
          root.calculateLayout(width, undefined, Yoga.DIRECTION_LTR);
          for (const node of nodes) digest.add(node.getComputedTop()).add(node.getComputedWidth());
        }
        root.freeRecursive();
        return digest.finish(`${nodes.length} boxes`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(yoga);
