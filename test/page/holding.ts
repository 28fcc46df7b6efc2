// A way to the daemon that is slow, or loses something.

import type { Page } from "playwright-core";

/** A call of the page that reaches the daemon only when it is let go. */
export async function held(page: Page, name: string): Promise<() => Promise<void>> {
  const gate = Promise.withResolvers<void>();
  await page.route("**/rpc", async (route) => {
    const { method } = route.request().postDataJSON() as { readonly method: string };
    if (method === name) await gate.promise;
    await route.continue().catch(() => {}); // The page is closed already, where the test failed.
  });
  return async () => {
    gate.resolve();
    await page.unroute("**/rpc");
  };
}

/** The next call of that name is done, and its answer is lost. */
export async function answerLost(page: Page, name: string): Promise<void> {
  let isLost = false;
  await page.route("**/rpc", async (route) => {
    const { method } = route.request().postDataJSON() as { readonly method: string };
    if (method !== name || isLost) return await route.continue();
    isLost = true;
    await route.fetch();
    await route.abort();
  });
}
