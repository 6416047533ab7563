import { h, type VNode } from "preact";

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
