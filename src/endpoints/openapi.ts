/** `/openapi.json`, made from the registered endpoints, and `/docs`, which shows it without any other server. */
import { resolve } from 'node:path'
import styleFile from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import scriptFile from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import type { Answer } from '../core/answer.ts'
import type { Endpoint } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { DocumentOptions } from './openapi/document.ts'
import { answerFixed, fixedContent } from './openapi/fixed-content.ts'
import type { FixedContent } from './openapi/fixed-content.ts'
import { anyObject, named, open, shape, text } from './openapi/schema.ts'
import { isFromBrowser } from './common/request-heads.ts'
import { gunzipIfNeeded } from '../lib/program-files.ts'

const openapiDocumentSchema = named('OpenapiDocument', () =>
  open(shape({ openapi: text, info: anyObject, paths: anyObject, components: anyObject })),
)

/** `/openapi.json` over `all` endpoints, these included. */
export function openapiEndpoints(all: () => Promise<readonly Endpoint[]>): Endpoint[] {
  /** Made at the first request, and again when a reload has changed the names of headers. */
  let made: { readonly key: string; readonly content: Promise<FixedContent> } | undefined
  const document: Endpoint = {
    method: 'GET',
    paths: ['/openapi.json'],
    auth: 'none',
    doc: {
      operationId: 'getOpenapiDocument',
      summary: 'This document',
      tag: 'Docs',
      success: { 'application/json': openapiDocumentSchema },
      headers: ['etag'],
    },
    async handle(request, services) {
      const { version } = services
      const { headerPrefix, signIn } = services.current.settings
      const { rootPath } = signIn
      const key = `${version} ${headerPrefix} ${rootPath}`
      // The promise is kept, so that a crowd that asks meanwhile waits for the same one.
      if (made?.key !== key) made = { key, content: documentOf(all(), { version, headerPrefix, rootPath }) }
      const { content } = made
      return answerFixed(request, await content)
    },
  }
  return [document, docsPage, docsAsset]
}

/** Takes a fifth of a second, and 30 MB for a while. */
async function documentOf(all: Promise<readonly Endpoint[]>, naming: DocumentOptions): Promise<FixedContent> {
  // Loaded at the first request for it: the schemas of all answers are a megabyte of heap.
  const { openapiDocument } = await import('./openapi/document.ts')
  const bytes = Buffer.from(JSON.stringify(await openapiDocument(await all, naming)))
  // A new release may change it: clients ask each time, and get 304.
  return fixedContent(bytes, { 'content-type': 'application/json', 'cache-control': 'no-cache' })
}

const pageText = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Modelgate API</title>
<link rel="icon" type="image/svg+xml" href="ui/icon.svg">
<script src="docs/theme.js"></script>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<p style="margin: 1rem; font: 1rem/1.5 system-ui, sans-serif"><a href="ui/">Admin panel, chat and model hub</a></p>
<noscript>This page needs JavaScript. <a href="openapi.json">openapi.json</a> says the same.</noscript>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

/** Before the first paint: the theme that the person chose on our pages (web/lib/theme.ts), else that of the system. */
const themeScript = `const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
function showTheme() {
  let chosen = null
  try {
    chosen = localStorage.getItem('modelgate.theme')
  } catch {}
  const isDark = chosen === 'dark' || (chosen !== 'light' && systemIsDark.matches)
  document.documentElement.classList.toggle('dark-mode', isDark)
}
showTheme()
systemIsDark.addEventListener('change', showTheme)
// It was chosen in another tab.
addEventListener('storage', showTheme)
`

/** Swagger UI filters by the names of groups alone; here every word of an operation counts. */
const startScript = `const textOf = (tag, operation) =>
  [tag, operation.get('method'), operation.get('path'), operation.getIn(['operation', 'summary'], '')]
    .join(' ').toLowerCase()
const operationFilter = ({ React }) => ({
  fn: {
    opsFilter(tagged, phrase) {
      const words = phrase.toLowerCase().split(/\\s+/)
      const isMeant = tag => operation => words.every(word => textOf(tag, operation).includes(word))
      return tagged
        .map((one, tag) => one.update('operations', all => all.filter(isMeant(tag))))
        .filter(one => one.get('operations').size > 0)
    },
  },
  components: {
    FilterContainer({ layoutSelectors, layoutActions }) {
      const given = layoutSelectors.currentFilter()
      const label = 'Filter by words of the path, the method, the group or the summary'
      const input = React.createElement('input', {
        className: 'operation-filter-input',
        type: 'search',
        'aria-label': label,
        placeholder: label,
        value: typeof given === 'string' ? given : '',
        onChange: event => layoutActions.updateFilter(event.target.value),
      })
      return React.createElement('div', { className: 'filter wrapper' }, input)
    },
  },
})
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#api',
  deepLinking: true,
  validatorUrl: null,
  filter: true,
  plugins: [operationFilter],
})
`

/** Swagger UI sets inline styles and loads its icons from data: URLs; scripts only come from this server. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const pageHeaders = (contentType: string, cacheControl: string): Record<string, string> => ({
  'content-type': contentType,
  'cache-control': cacheControl,
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
})

const page = fixedContent(Buffer.from(pageText), pageHeaders('text/html; charset=utf-8', 'no-cache'))

const docsPage: Endpoint = {
  method: 'GET',
  paths: ['/docs', '/'],
  auth: 'none',
  doc: {
    operationId: 'getDocsPage',
    summary: 'A page to read and try this document; from `/` browsers are led to the pages for people',
    tag: 'Docs',
    success: { 'text/html': text },
    headers: ['etag'],
  },
  handle(request, { pages }): Answer {
    if (request.path === '/') {
      const location = isFromBrowser(request) && pages.state().state !== 'absent' ? 'ui/' : 'docs'
      return { status: 302, headers: { location, vary: 'accept' }, body: null }
    }
    // The page's links are relative: below `/docs/` they would point one level too deep.
    if (request.path.endsWith('/')) return { status: 302, headers: { location: '../docs' }, body: null }
    return answerFixed(request, page)
  },
}

interface Asset {
  readonly type: string
  read(): Promise<Uint8Array>
}

/** `path`: in the bundle the name of a file beside it, in the source tree the file of the package. */
async function contentOf(path: string): Promise<Uint8Array> {
  return gunzipIfNeeded(await Bun.file(resolve(import.meta.dirname, path)).bytes())
}

/** Only these names exist: nothing that a client writes becomes a path of the file system. */
const assetFiles: Readonly<Record<string, Asset>> = {
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: () => contentOf(styleFile) },
  'swagger-ui-bundle.js': { type: 'text/javascript; charset=utf-8', read: () => contentOf(scriptFile) },
  'theme.js': { type: 'text/javascript; charset=utf-8', read: async () => Buffer.from(themeScript) },
  'start.js': { type: 'text/javascript; charset=utf-8', read: async () => Buffer.from(startScript) },
}

const oneHour = 'max-age=3600'

/** Each is read once, at its first request. */
const assets = new Map<string, Promise<FixedContent>>()

async function readAsset({ type, read }: Asset): Promise<FixedContent> {
  return fixedContent(await read(), pageHeaders(type, oneHour))
}

function assetOf(name: string, asset: Asset): Promise<FixedContent> {
  const known = assets.get(name)
  if (known) return known
  const reading = readAsset(asset)
  assets.set(name, reading)
  // A file that could not be read is tried again.
  reading.catch(() => assets.delete(name))
  return reading
}

const docsAsset: Endpoint = {
  method: 'GET',
  paths: ['/docs/{asset}'],
  auth: 'none',
  doc: {
    operationId: 'getDocsAsset',
    summary: 'Parts of the documentation page',
    tag: 'Docs',
    success: { 'text/css': text, 'text/javascript': text },
    headers: ['etag'],
  },
  async handle(request): Promise<Answer> {
    const name = request.params.asset!
    const asset = Object.hasOwn(assetFiles, name) ? assetFiles[name] : undefined
    if (!asset) throw new GatewayError('not-found', 'the documentation has no such part')
    return answerFixed(request, await assetOf(name, asset))
  },
}
