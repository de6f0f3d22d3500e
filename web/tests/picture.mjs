// node picture.mjs URL FILE SELECTOR: opens a page like a person would, waits for something, and takes its picture.
import { closeBrowser, openPage } from './support.mjs';

const [url, file, selector] = process.argv.slice(2);
const { origin, pathname, search } = new URL(url);
const page = await openPage({ url: origin }, { path: pathname + search, viewport: { width: 1280, height: 860 } });
await page.locator(selector).first().waitFor();
await page.screenshot({ path: file });
console.log((await page.locator(selector).allInnerTexts()).slice(0, 3).join(' · '));
await page.done();
await closeBrowser();
