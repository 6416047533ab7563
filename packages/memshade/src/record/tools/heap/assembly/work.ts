@inline
export function bumpWork(at: usize, bytes: u64, work: u64): void {
  store<f64>(at, load<f64>(at) + <f64>bytes * <f64>work);
}
