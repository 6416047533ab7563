// Pages of 4 KiB written since an opaque host was last in control: a byte each.
import { CONTROL, C_PAGES, COVERED } from "./layout";

// 0: the host is not opaque, and nobody keeps them.
@external("layout", "DIRTY")
declare const DIRTY: u32;

const PAGE_SHIFT: u32 = 12;

@inline export function markDirty(address: u32, size: u32): void {
  if (DIRTY == 0 || size == 0) return;
  const last = (address + size - 1) >>> PAGE_SHIFT;
  for (let page = address >>> PAGE_SHIFT; page <= last; page++) store<u8>(DIRTY + page, 1);
}

/** First page from `page` on that is dirty, and is not any more; `pages` if there is none. */
export function takeDirty(page: u32, pages: u32): u32 {
  while (page < pages) {
    if ((page & 15) == 0 && pages - page >= 16 && !v128.any_true(v128.load(DIRTY + page))) { page += 16; continue; }
    if (load<u8>(DIRTY + page) != 0) {
      store<u8>(DIRTY + page, 0);
      return page;
    }
    page++;
  }
  return pages;
}

export function isOpaque(): bool { return DIRTY != 0; }

export function pagesInUse(): u32 {
  return min<u32>(load<u32>(CONTROL, C_PAGES), COVERED >>> 16) << (16 - PAGE_SHIFT);
}
