import { h, type VNode } from "preact";

/** The head of a table: a row of the names of its columns. */
export function tableHead(names: readonly string[]): VNode {
  return h(
    "thead",
    null,
    h(
      "tr",
      null,
      names.map((name) => h("th", { key: name, scope: "col" }, name)),
    ),
  );
}
