// SPDX-License-Identifier: BSD-3-Clause
// Looks at pages in a browser: node browser.mjs MODULES CHROMIUM FOLDER
//
// FOLDER holds plain.html, all.html (several results), hostile.html (class names, file names and metadata that are markup and scripts) and
// large.html. Of every page: one request, nothing on the console, no script but ours, no sideways scrolling on a phone;
// of plain.html also sorting, searching, hovering, the theme, the page without scripts, on paper, and what axe-core finds in
// light and dark. Mutants of hostile.html, its text unescaped or its policy taken out, must be told: a check that lets them
// pass checks nothing.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, chromium, folder] = process.argv.slice(2);
const require = createRequire(join(modules, 'x.js'));
const puppeteer = require('puppeteer-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const policy = /<meta http-equiv="Content-Security-Policy"[^>]*>\n/;
let checks = 0;

function expect(condition, text) {
  ++checks;
  if (!condition) throw new Error(text);
}

const browser = await puppeteer.launch({
  executablePath: chromium, headless: true, args: ['--no-sandbox', '--disable-gpu', '--allow-file-access-from-files'],
});

// Opens a page and keeps what it did.
async function open(name, options = {}) {
  const page = await browser.newPage();
  const seen = { requests: [], console: [], dialogs: 0 };
  page.on('request', (r) => { if (!r.url().startsWith('data:')) seen.requests.push(r.url()); });
  page.on('console', (m) => seen.console.push(m.text()));
  page.on('pageerror', (e) => seen.console.push(String(e)));
  page.on('dialog', (d) => { ++seen.dialogs; d.dismiss(); });
  if (options.noScript) await page.setJavaScriptEnabled(false);
  if (options.dark) await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  await page.setViewport(options.phone ? { width: 360, height: 740, isMobile: true, hasTouch: true } : { width: 1100, height: 900 });
  await page.goto(pathToFileURL(join(folder, name)).href, { waitUntil: 'load' });
  return { page, seen };
}

// Everything that must hold of any page, whatever stands in it.
async function quiet(name) {
  const { page, seen } = await open(name);
  await new Promise((done) => setTimeout(done, 50));
  expect(seen.requests.length === 1, `${name}: requests ${seen.requests}`);
  expect(seen.console.length === 0, `${name}: console ${seen.console}`);
  expect(seen.dialogs === 0, `${name}: ${seen.dialogs} dialogs`);
  const state = await page.evaluate(() => ({
    ran: window.ran, scripts: document.querySelectorAll('script:not([type])').length,
    handlers: [...document.querySelectorAll('*')].some((e) => [...e.attributes].some((a) => a.name.startsWith('on'))),
    strange: document.querySelectorAll('iframe,object,embed,link,base,form,svg script').length,
    sorted: document.querySelectorAll('th button').length,
  }));
  expect(state.ran === undefined, `${name}: a script of the data ran`);
  expect(state.scripts === 1, `${name}: ${state.scripts} scripts`);
  expect(!state.handlers && state.strange === 0, `${name}: markup from the data`);
  expect(state.sorted > 0, `${name}: our own script did not run`);
  await page.close();
}

function guarded(name) {
  const text = readFileSync(join(folder, name), 'utf8'), meta = text.match(policy);
  expect(meta !== null && /default-src 'none'/.test(meta[0]) && !/unsafe/.test(meta[0]), `${name}: no policy`);
}

async function fails(what, name) {
  let told = false;
  try {
    await what(name);
  } catch {
    told = true;
  }
  expect(told, `${name}: nobody noticed`);
}

async function hostile() {
  const text = readFileSync(join(folder, 'hostile.html'), 'utf8');
  const open = text.replace(policy, '');
  const raw = (t) => t.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
  // Between the head and our script only: the mutant is one of the escaper.
  const unescaped = (t) => t.replace(/(<body>)([\s\S]*)(<script>\(function)/, (_, a, b, c) => a + raw(b) + c);
  expect(/&lt;script&gt;/.test(text) && /\\u\{202e\}/.test(text), 'hostile.html: the names are not in it');
  expect(!/\u202e/.test(text), 'hostile.html: a mark of direction as it is');
  writeFileSync(join(folder, 'open.html'), open);
  writeFileSync(join(folder, 'raw.html'), unescaped(text));
  writeFileSync(join(folder, 'raw_open.html'), unescaped(open));
  guarded('hostile.html');
  await quiet('hostile.html');
  await quiet('open.html'); // escaping holds by itself
  await fails(guarded, 'open.html');
  await fails(quiet, 'raw.html');
  await fails(quiet, 'raw_open.html');
}

async function sorting() {
  const { page } = await open('plain.html');
  const column = () => page.$$eval('#classes-0 tbody tr', (rows) => rows.map((r) => Number(r.cells[2].dataset.v)));
  const press = async () => {
    await page.focus('#classes-0 thead th:nth-child(3) button');
    await page.keyboard.press('Enter');
  };
  const rising = (v) => v.every((x, i) => i === 0 || v[i - 1] <= x);
  await press();
  expect(rising(await column()), 'recall does not rise');
  await press();
  expect(rising((await column()).reverse()), 'recall does not fall');
  const state = await page.$eval('#classes-0 thead th:nth-child(3)', (th) => th.getAttribute('aria-sort'));
  expect(state === 'descending', `aria-sort ${state}`);
  const rows = await page.$$eval('#classes-0 tbody tr', (r) => r.length);
  const name = await page.$eval('#classes-0 tbody tr th', (th) => th.textContent);
  const box = (await page.$('#classes-0')).evaluateHandle((t) => t.parentNode.previousElementSibling.querySelector('input'));
  await (await box).type(name);
  const left = await page.$$eval('#classes-0 tbody tr', (r) => r.filter((x) => !x.hidden).length);
  expect(left >= 1 && left < rows, `found ${left} of ${rows}`);
  const image = await page.$('figure.confusion image');
  await image.scrollIntoView();
  const place = await image.boundingBox();
  await page.mouse.move(place.x + 2, place.y + 2);
  const said = await page.$eval('figure.confusion output', (o) => o.textContent);
  const first = await page.$eval('#classes-0 tr[data-k="0"]', (r) => r.cells[0].textContent);
  expect(said.startsWith(`${first} taken for ${first}: `) && !said.endsWith(' 0'), `hovering says ${said}`);
  await page.close();
}

async function theme() {
  const { page } = await open('plain.html');
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await paper();
  await page.click('#theme');
  expect(await paper() !== before, 'the theme does not change');
  await page.click('#theme');
  expect(await paper() === before, 'the theme does not change back');
  await page.close();
  const dark = await open('plain.html', { dark: true });
  expect(await dark.page.evaluate(() => getComputedStyle(document.body).backgroundColor) !== before, 'no dark paper');
  await dark.page.close();
}

async function withoutScript() {
  const { page } = await open('plain.html', { noScript: true });
  const text = await page.$eval('body', (b) => b.innerText);
  const { page: scripted } = await open('plain.html');
  const cells = (p) => p.$$eval('td', (c) => c.map((x) => x.textContent).join('|'));
  expect(await cells(page) === await cells(scripted), 'cells differ without a script');
  expect(/are right/.test(text), 'no verdict without a script');
  expect((await page.$$('svg')).length > 3, 'no charts without a script');
  await page.close();
  await scripted.close();
}

async function phone(name) {
  const { page } = await open(name, { phone: true });
  const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(width[0] <= width[1], `${name}: ${width[0]} pixels wide on a phone of ${width[1]}`);
  await page.close();
}

async function paper() {
  const { page } = await open('plain.html', { dark: true });
  const pdf = await page.pdf({ format: 'A4' });
  expect(pdf.length > 20000 && Buffer.from(pdf.slice(0, 5)).toString() === '%PDF-', 'no PDF');
  await page.emulateMediaType('print');
  const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(colour === 'rgb(255, 255, 255)', `printed on ${colour}`);
  await page.close();
}

async function accessible(name, options) {
  const { page } = await open(name, options);
  const client = await page.createCDPSession(); // the policy holds for the page, not for who looks at it
  await client.send('Page.setBypassCSP', { enabled: true });
  await page.reload();
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const told = found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' ')}`);
  expect(told.length === 0, `${name} ${JSON.stringify(options)}: ${told.join('\n')}`);
  await page.close();
}

try {
  guarded('plain.html');
  for (const name of ['plain.html', 'all.html', 'large.html']) await quiet(name);
  await hostile();
  await sorting();
  await theme();
  await withoutScript();
  for (const name of ['plain.html', 'all.html', 'hostile.html', 'large.html']) await phone(name);
  await paper();
  for (const options of [{}, { dark: true }, { phone: true }]) await accessible('plain.html', options);
  for (const name of ['all.html', 'hostile.html']) await accessible(name, {});
  console.log(`${checks} checks in ${await browser.version()}`);
} catch (wrong) {
  console.log(String(wrong.message));
  process.exitCode = 1;
} finally {
  await browser.close();
}
