import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { type CdpEvent, CdpPipe } from "../../../../src/record/host/browser/cdp-pipe.ts";

function connect(): { cdp: CdpPipe; events: CdpEvent[]; tell(message: object): void } {
  const [from, to] = [new PassThrough(), new PassThrough()];
  const events: CdpEvent[] = [];
  const cdp = new CdpPipe(from, to, { onEvent: (event) => void events.push(event), onGone() {} });
  return { cdp, events, tell: (message) => void from.write(`${JSON.stringify(message)}\0`) };
}

it("calls to a session that ends fail, which the browser does not say; those to others go on", async () => {
  const { cdp, events, tell } = connect();
  const toWorker = cdp.call("Runtime.callFunctionOn", {}, "worker");
  const toPage = cdp.call("Runtime.callFunctionOn", {}, "page");
  tell({ method: "Target.detachedFromTarget", params: { sessionId: "worker" }, sessionId: "page" });
  await expect(toWorker).rejects.toThrow("the target has gone");
  expect(events).toMatchObject([{ method: "Target.detachedFromTarget" }]);
  tell({ id: 1_000_000_002, result: { value: 7 }, sessionId: "page" });
  await expect(toPage).resolves.toEqual({ value: 7 });
});
