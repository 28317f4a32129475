/** What needs no key costs nearly nothing: bytes made once, shared by all readers, and 304 for those who have them. */
import { expect, test } from 'bun:test'
import type { Answer } from '../core/answer.ts'
import type { Services } from '../core/endpoint.ts'
import type { IncomingRequest } from '../core/request.ts'
import { CachedExposition } from '../telemetry/cached-exposition.ts'
import { allEndpoints } from './index.ts'
import { createRequestRouter } from './router.ts'
import { BuiltPages } from './common/built-pages.ts'

const endpoints = await allEndpoints()

const exposition = new CachedExposition(() => 'up 1\n'.repeat(1_000_000), { monotonicMs: () => 0 })
const door = createRequestRouter({
  endpoints,
  services: {
    version: '1',
    current: {
      settings: {
        identity: { providers: [] },
        headerPrefix: 'x-proxy',
        metricsRequireKey: false,
        signIn: { baseUrl: null, rootPath: '' },
        publicModels: { names: [], showPrices: true, where: null },
        aliases: {},
        priceLists: [],
      },
    },
    coolingDown: () => [],
    clock: { epochMs: () => 0, monotonicMs: () => 0 },
    metrics: () => exposition.bytes(),
    pages: new BuiltPages(undefined),
    readiness: () => ({ ready: true, details: { db: 'connected' } }),
  } as unknown as Services,
  policies: [],
  reportInternal: error => expect(error).toBeUndefined(),
  metricsRequireKey: () => false,
})

const get = async (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  door.handle({
    method: 'GET',
    path,
    headers: new Headers(headers),
    clientAddress: '10.0.0.1',
  } as unknown as IncomingRequest)

/**
 * Signing in: each answer is made for one browser. Their cost is bounded by limits of their own (tests/e2e/sign-in).
 */
const signInPages = ['/fallback/login', '/fallback/password', '/onboarding/get_token']
const signInForms = [
  ...['/login', '/v2/login', '/fallback/forgotten-password', '/onboarding/claim_token'],
  ...['/sign-in/claim', '/sign-in/logout'],
]
const withoutKey = endpoints.filter(one => one.auth === 'none')
/** What a browser is given on its way to a provider and back differs from one to the next. */
const forOne = [...signInPages, ...signInForms, '/sso/callback', '/sso/key/generate', '/sso/logout']
const open = withoutKey.filter(one => one.method === 'GET' && !one.paths.some(path => forOne.includes(path)))
/** Routes of OAuth: forms of at most 16 KiB, limited for each network. */
const forms = ['/oauth/device_authorization', '/oauth/token', '/oauth/revoke']
const assets = ['swagger-ui.css', 'swagger-ui-bundle.js', 'start.js']
/** The pages: their files are made once too, which tests/web/served.test.ts looks at. */
const pages = ['/ui', '/ui/{page+}']
const paths = open
  .flatMap(one => one.paths)
  .filter(path => !pages.includes(path))
  .flatMap(path => (path.includes('{asset}') ? assets.map(name => path.replace('{asset}', name)) : [path]))
/** Answers of a few words, which differ from one moment to the next. */
const words = ['/health/liveliness', '/health/liveness', '/health/readiness', '/sign-in/methods']

test('every route without a key is known here, and answers GET alone unless it takes a form', () => {
  const others = withoutKey.filter(one => one.method !== 'GET')
  expect(others.flatMap(({ method, paths: at }) => at.map(path => `${method} ${path}`)).toSorted()).toEqual(
    [...forms, ...signInForms].map(path => `POST ${path}`).toSorted(),
  )
  expect(open.flatMap(one => one.paths)).toEqual(expect.arrayContaining(pages))
  const documents = ['/docs', ...assets.map(name => `/docs/${name}`), '/openapi.json', '/routes', '/public/model_hub']
  const metadata = ['/.well-known/oauth-authorization-server']
  expect(paths.toSorted()).toEqual([...words, '/metrics', '/', ...documents, ...metadata].toSorted())
})

test('a crowd that asks for one of them first of all makes it once', async () => {
  for (const path of paths) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => get(path)))
    const bodies = new Set(answers.map(({ body }) => (body instanceof Uint8Array ? body : String(body))))
    expect([path, bodies.size]).toEqual([path, 1])
  }
})

test('routes without a key serve bytes that are made once and shared, with an ETag', async () => {
  for (const path of paths) {
    const [first, second] = [await get(path), await get(path)]
    if (words.includes(path)) expect([path, String(first.body).length < 300]).toEqual([path, true])
    else if (path === '/') expect(first).toMatchObject({ status: 302, body: null })
    else {
      expect([path, first.status, first.body instanceof Uint8Array]).toEqual([path, 200, true])
      expect([path, first.body === second.body]).toEqual([path, true])
      if (path === '/metrics') continue
      const known = await get(path, { 'if-none-match': first.headers.etag! })
      expect([path, known.status, known.body]).toEqual([path, 304, null])
    }
  }
})

test('a thousand requests of the document, the assets and the public models make nothing anew', async () => {
  for (const path of ['/openapi.json', '/docs/swagger-ui-bundle.js', '/public/model_hub']) {
    const { body } = await get(path)
    const bodies = new Set(await Promise.all(Array.from({ length: 1000 }, async () => (await get(path)).body)))
    expect([...bodies]).toEqual([body])
  }
})
