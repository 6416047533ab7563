// Stores over bytes of which some were not read.
import { overwriteFew } from "../chosen/bytes";

export function lost1(address: u32): void { overwriteFew(address, 1); }
export function lost2(address: u32): void { overwriteFew(address, 2); }
export function lost4(address: u32): void { overwriteFew(address, 4); }
export function lost8(address: u32): void { overwriteFew(address, 8); }
export function lost16(address: u32): void { overwriteFew(address, 16); }
