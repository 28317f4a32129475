/** How the pages are served: below any prefix, compressed, cached for ever by their hash, and with a strict policy. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { builtPages, pageMs } from './browser.ts'
import { pages } from './declared-pages.ts'

setDefaultTimeout(3 * pageMs)

let folder: string
let gateway: Gateway
beforeAll(async () => {
  folder = await builtPages()
  gateway = await startGateway({ environment: { MODELGATE_WEB_DIRECTORY: folder } })
})
afterAll(() => gateway?.stop())

/** As it is on the wire: neither unpacked nor redirected. */
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(gateway.url + path, {
    headers: { 'accept-encoding': 'identity', ...headers },
    redirect: 'manual',
    decompress: false,
  })

/** Files that the page asks for at once, relative to `/ui/`. */
function firstFiles(): string[] {
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  return [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, file]) => file!)
}

test('the page is never kept, names its base, and has no inline script or style', async () => {
  for (const [path, base] of [
    ['/ui/', './'],
    ['/ui/keys', './'],
    ['/ui/keys/', '../'],
    ['/ui/teams/a%2Fb/members', '../../'],
  ] as const) {
    const answer = await get(path)
    expect([path, answer.status, answer.headers.get('cache-control')]).toEqual([path, 200, 'no-store'])
    const html = await answer.text()
    expect(html).toContain(`<head><base href="${base}">`)
    expect(html).not.toMatch(/<style|<script(?![^>]* src=)|\son\w+=|style="/)
  }
})

test('the policy allows nothing but the own origin, and no frame', async () => {
  const { headers } = await get('/ui/')
  const policy = headers.get('content-security-policy')!
  for (const rule of ["default-src 'self'", "base-uri 'self'", "frame-ancestors 'none'", "object-src 'none'"])
    expect(policy).toContain(rule)
  expect(policy).not.toContain('unsafe')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
})

test('without a slash it leads to the one with a slash, below the prefix of a proxy', async () => {
  const { status, headers } = await get('/ui')
  expect([status, headers.get('location')]).toEqual([302, 'ui/'])
})

test('hashed files are kept for ever, in the encoding that the client takes best', async () => {
  const script = firstFiles().find(file => file.startsWith('assets/') && file.endsWith('.js'))!
  const plain = readFileSync(join(folder, script))
  const unpack = { identity: (bytes: Buffer) => bytes, gzip: gunzipSync, br: brotliDecompressSync }
  for (const [accepted, encoding] of [
    ['identity', 'identity'],
    ['gzip, deflate', 'gzip'],
    ['gzip, br', 'br'],
    ['gzip, br;q=0', 'gzip'],
  ] as const) {
    const answer = await get(`/ui/${script}`, { 'accept-encoding': accepted })
    const { headers } = answer
    expect([accepted, headers.get('content-encoding') ?? 'identity', headers.get('vary')]).toEqual([
      accepted,
      encoding,
      'accept-encoding',
    ])
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(unpack[encoding](Buffer.from(await answer.arrayBuffer())).equals(plain)).toBe(true)
    const known = await get(`/ui/${script}`, { 'accept-encoding': accepted, 'if-none-match': headers.get('etag')! })
    expect(known.status).toBe(304)
  }
})

test('a part that does not exist is 404, and no path leads out of the folder', async () => {
  for (const path of ['/ui/assets/none.js', '/ui/assets/..%2f..%2fpackage.json'])
    expect([path, (await get(path)).status]).toEqual([path, 404])
  // Any other address is one of the pages' own: the script decides on it.
  expect(await (await get('/ui/..%2f..%2fpackage.json')).text()).toContain('<base href=')
})

/** What the gateway names in the HTML of a page for the browser to begin with. */
async function preloads(path: string): Promise<string[]> {
  const html = await (await get(`/ui/${path}`)).text()
  return [...html.matchAll(/<link rel="modulepreload" crossorigin href="\.\/([^"]+)">/g)].map(([, file]) => file!)
}

test('the first load of a page is at most 180 KB of scripts and styles, compressed', async () => {
  const first = firstFiles().filter(file => /\.(js|css)$/.test(file))
  expect(first.length).toBeGreaterThan(1)
  for (const path of ['', 'keys', 'login']) {
    const bytes = [...first, ...(await preloads(path))].map(file => readFileSync(join(folder, `${file}.gz`)).length)
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(180_000)
  }
})

test('the files of every page are asked for by its HTML, before a script runs', async () => {
  expect(pages.length).toBeGreaterThan(20)
  for (const { path, name } of pages) {
    const files = await preloads(path.slice(1))
    expect([path, files[0]?.replace(/-[\w-]{8}\.js$/, '')]).toEqual([path, `assets/${name}`])
    for (const one of files) expect([one, (await get(`/ui/${one}`)).status]).toEqual([one, 200])
  }
  expect(await preloads('no-such-page')).toEqual([])
})

test('while the pages are built it says so and asks again; the reason of a failure is shown', async () => {
  const place = join(mkdtempSync(join(tmpdir(), 'modelgate-pages-')), 'pages')
  const early = await startGateway({ environment: { MODELGATE_WEB_DIRECTORY: place } })
  try {
    const making = await fetch(`${early.url}/ui/`)
    expect([making.status, making.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await making.text()).toContain('http-equiv="refresh"')
    writeFileSync(`${place}.failed`, 'no <module>')
    const failed = await fetch(`${early.url}/ui/keys`)
    expect([failed.status, await failed.text()]).toEqual([500, expect.stringContaining('no &lt;module&gt;')])
    expect((await fetch(`${early.url}/health/liveliness`)).status).toBe(200)
    mkdirSync(place)
    writeFileSync(join(place, 'files.json'), '{"index.html":1}')
    const older = await fetch(`${early.url}/ui/`)
    expect([older.status, await older.text()]).toEqual([500, expect.stringContaining('built by an older version')])
  } finally {
    await early.stop()
    rmSync(join(place, '..'), { recursive: true, force: true })
  }
})

test('an installation without what builds the pages has none, and a failure does not tell where it is', async () => {
  const place = mkdtempSync(join(tmpdir(), 'modelgate-installed-'))
  try {
    mkdirSync(join(place, 'bin'))
    mkdirSync(join(place, 'web'))
    cpSync(join(import.meta.dir, '../../bin/web.mjs'), join(place, 'bin/web.mjs'))
    writeFileSync(join(place, 'web/index.html'), '')
    const run = (script: string) =>
      Bun.spawnSync([
        process.execPath,
        '-e',
        `const web = await import('${place}/bin/web.mjs'); ${script}`,
      ]).stdout.toString()
    // As `npm ci --omit=dev` leaves it.
    expect(run('console.log(web.webDirectory())')).toBe('undefined\n')
    mkdirSync(join(place, 'node_modules/vite'), { recursive: true })
    writeFileSync(
      join(place, 'node_modules/vite/package.json'),
      '{"name":"vite","type":"module","exports":"./vite.js"}',
    )
    writeFileSync(
      join(place, 'node_modules/vite/vite.js'),
      `export const build = () => { throw new Error('cannot read ${place}/web/main.tsx') }`,
    )
    const made = run('const at = web.webDirectory(); await web.ensureWeb(at).catch(() => {}); console.log(at)').trim()
    expect(made).toStartWith(join(place, 'dist/web/'))
    expect(readFileSync(`${made}.failed`, 'utf8')).toBe('cannot read web/main.tsx')
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

test('a gateway without pages says how to get them', async () => {
  const bare = await startGateway()
  try {
    const answer = await fetch(`${bare.url}/ui/`)
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('npm ci, without --omit=dev')])
  } finally {
    await bare.stop()
  }
})

test('behind a proxy that passes its prefix on, pages and API are served with and without it', async () => {
  const below = await startGateway({ rootPath: '/team/gateway', environment: { MODELGATE_WEB_DIRECTORY: folder } })
  try {
    for (const prefix of ['', '/team/gateway']) {
      const page = await fetch(`${below.url}${prefix}/ui/keys/`)
      expect([prefix, page.status, await page.text()]).toEqual([
        prefix,
        200,
        expect.stringContaining('<base href="../">'),
      ])
      expect([prefix, (await fetch(`${below.url}${prefix}/health/liveliness?a=b`)).status]).toEqual([prefix, 200])
      const keys = await below.admin(`${prefix}/key/list?size=1&page=2`)
      expect([prefix, await keys.json()]).toEqual([prefix, expect.objectContaining({ current_page: 2 })])
    }
    expect((await fetch(`${below.url}/team/gatewayed/health/liveliness`)).status).toBe(404)
    // Programs that are made from the document ask below the prefix, too.
    const document = (await (await fetch(`${below.url}/openapi.json`)).json()) as { servers: { url: string }[] }
    expect(document.servers.map(one => one.url)).toEqual(['/team/gateway'])
  } finally {
    await below.stop()
  }
})
