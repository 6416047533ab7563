import { BodyBuilder } from "../../../../rewrite/write/body-builder.ts";

/** Displacement of a load that no 32-bit memory reaches. */
const OUT_OF_REACH = 0xffffffff;

/**
 * In functions that do an access: local `address` = parameter 0 + local `displacement`. `whole`: a local of the type of the
 * memory's addresses for the same, the local `address` itself in 32-bit memories.
 */
export function computeAddress(
  body: BodyBuilder,
  displacement: number,
  address: number,
  whole: number,
): void {
  body.op("local.get", 0).op("local.get", displacement);
  if (whole === address) body.op("i32.add").op("local.set", address);
  else {
    body.op("i64.extend_i32_u").op("i64.add").op("local.tee", whole);
    body.op("i32.wrap_i64").op("local.set", address);
  }
}

/** As `computeAddress` and `checkAddress` for 32-bit memories, where `tooFar` is the index of `trapTooFar`: shorter. */
export function computeNear(body: BodyBuilder, displacement: number, address: number, tooFar: number): void {
  body.op("local.get", 0).op("local.get", displacement).op("i32.add").op("local.tee", address);
  body.op("local.get", 0).op("i32.lt_u").open("if").op("call", tooFar).end();
}

/** A function that traps as a load does beyond all memory. */
export function trapTooFar(): Uint8Array {
  return new BodyBuilder().i32(0).op("i32.load8_u", 0, OUT_OF_REACH).op("drop").finish();
}

/** Traps where the sum that `computeAddress` computed is beyond any memory that is followed. */
export function checkAddress(body: BodyBuilder, address: number, whole: number): void {
  if (whole === address) {
    body.op("local.get", address).op("local.get", 0).op("i32.lt_u").open("if");
    body.op("local.get", 0).op("i32.load8_u", 0, OUT_OF_REACH).op("drop").end();
    return;
  }
  // A sum beyond 64 bits is small; its first operand is not.
  for (const part of [0, whole]) {
    body.op("local.get", part).i64(32).op("i64.shr_u").op("i64.eqz").op("i32.eqz").open("if");
    body.op("local.get", part).op("i32.load8_u", 0, 0).op("drop").end();
  }
}
