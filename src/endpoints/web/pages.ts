/** The pages for people, under `/ui/`: made from the folder `web`, and served from memory. */
import type { Answer } from '../../core/answer.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import { answerFixed } from '../openapi/fixed-content.ts'
import { text } from '../openapi/schema.ts'
import { pageHeaders } from '../common/built-pages.ts'

const htmlHeaders: Readonly<Record<string, string>> = {
  ...pageHeaders,
  'content-type': 'text/html; charset=utf-8',
  // It names the hashed files of this release.
  'cache-control': 'no-store',
}

/** Answers `/ui` and everything below. */
export const webPages: Endpoint = {
  method: 'GET',
  paths: ['/ui', '/ui/{page+}'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'getWebPage',
    summary: 'The pages for people, and their parts',
    tag: 'Docs',
    success: { 'text/html': text },
  },
  handle(request, { pages }): Answer {
    // Relative addresses of the page begin below `/ui/`; this one is relative too, and stays below a proxy's prefix.
    if (request.path.endsWith('/ui')) return { status: 302, headers: { location: 'ui/' }, body: null }
    const state = pages.state()
    if (state.state === 'absent')
      throw new GatewayError(
        'not-found',
        'this installation has no pages: in the project folder install what builds them (npm ci, without ' +
          '--omit=dev), or use the package of npm run package, which has them',
      )
    if (state.state === 'failed') return notice('The pages could not be built', state.why, 500)
    if (state.state === 'making')
      return notice('The pages are being built', 'This takes a few seconds, once. The API is ready.', 503)
    const name = request.params.page ?? ''
    const file = pages.file(name, request)
    if (file) return answerFixed(request, file)
    if (name.startsWith('assets/')) throw new GatewayError('not-found', 'the pages have no such part; reload the page')
    return { status: 200, headers: { ...htmlHeaders }, body: pages.html(baseOf(request), name) }
  },
}

/** From the page to `/ui/`, below any prefix that a proxy has removed: `../` for each level below it. */
function baseOf({ path }: Pick<HttpRequest, 'path'>): string {
  const below = path.slice(path.indexOf('/ui/') + '/ui/'.length)
  return '../'.repeat(below.split('/').length - 1) || './'
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** In the place of the pages; asks again by itself while they are made. */
function notice(title: string, message: string, status: 500 | 503): Answer {
  const safe = message.replace(/[&<>"]/g, one => escapes[one]!)
  const again = status === 503 ? '<meta http-equiv="refresh" content="2">' : ''
  const body = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8">${again}<title>${title}</title></head>
<body><h1>${title}</h1><pre>${safe}</pre></body>
</html>
`
  return { status, headers: { ...htmlHeaders, ...(status === 503 && { 'retry-after': '2' }) }, body }
}
