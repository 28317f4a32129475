/** The built pages: a folder of files that never change, read at the first request for them. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { PagesState, WebPages } from '../../core/web-pages.ts'
import type { HttpRequest } from '../../core/request.ts'
import { fixedContent } from '../openapi/fixed-content.ts'
import type { FixedContent } from '../openapi/fixed-content.ts'

/** Written last by the maker of the pages (bin/web.mjs): names of all files with their sizes. */
const listFile = 'files.json'

/** Written by the build of the pages (web/vite.config.ts): the files of each page, beside those of all. */
const pagesFile = 'pages.json'

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  woff2: 'font/woff2',
  svg: 'image/svg+xml',
  md: 'text/markdown; charset=utf-8',
}

/** Scripts, styles and pictures come from here alone; what a model or a name holds never runs. */
const contentSecurityPolicy = [
  "default-src 'self'",
  // Pictures and sound that a model made, or that a person is about to send.
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ')

/** Of everything below `/ui/`. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
}

const oneYear = 'public, max-age=31536000, immutable'

/** The page in pieces. `linksOf` = what a page needs beside the first files, by its name. */
interface Html {
  readonly beforeBase: string
  readonly afterBase: string
  readonly afterHead: string
  readonly linksOf: ReadonlyMap<string, string>
}

/** One folder of built pages. Names that are not in its list do not exist: no path of a client reaches the disk. */
export class BuiltPages implements WebPages {
  readonly #directory: string | undefined
  readonly #isDemo: boolean
  readonly #read = new Map<string, FixedContent>()
  #names: ReadonlySet<string> | undefined
  #html: Html | undefined

  /** undefined = the installation has no pages. `isDemo` = the pages say that nothing they show is real. */
  constructor(directory: string | undefined, isDemo = false) {
    this.#directory = directory
    this.#isDemo = isDemo
  }

  /** Asked for each page until they are there: they are made while the gateway already serves. */
  state(): PagesState {
    if (this.#names) return { state: 'ready' }
    if (this.#directory === undefined) return { state: 'absent' }
    const list = join(this.#directory, listFile)
    if (existsSync(list)) {
      const names = new Set(Object.keys(JSON.parse(readFileSync(list, 'utf8')) as object))
      if (!names.has(pagesFile))
        return { state: 'failed', why: `the pages were built by an older version: they have no ${pagesFile}` }
      this.#names = names
      return { state: 'ready' }
    }
    const failure = `${this.#directory}.failed`
    return existsSync(failure) ? { state: 'failed', why: readFileSync(failure, 'utf8') } : { state: 'making' }
  }

  /**
   * The page with `base` as the address that its relative ones start from. What the page at `path` needs is named in
   * its head, so that the browser asks for it before a script runs. Only when ready.
   */
  html(base: string, path: string): string {
    this.#html ??= this.#readHtml()
    const { beforeBase, afterBase, afterHead, linksOf } = this.#html
    const links = linksOf.get(pageOf(path)) ?? ''
    return `${beforeBase}<base href="${base}">${afterBase}${links}${afterHead}`
  }

  /** undefined = there is no such file. Compressed where the client takes it. Only when ready. */
  file(name: string, { headers }: Pick<HttpRequest, 'headers'>): FixedContent | undefined {
    if (!this.#names?.has(name)) return undefined
    const accepted = headers.get('accept-encoding') ?? ''
    for (const [suffix, encoding] of encodings)
      if (this.#names.has(name + suffix) && accepts(accepted, encoding)) return this.#content(name, suffix, encoding)
    return this.#content(name, '')
  }

  #readHtml(): Html {
    const built = readFileSync(join(this.#directory!, 'index.html'), 'utf8')
    const html = this.#isDemo ? built.replace('<html ', '<html data-demo ') : built
    const base = html.indexOf('<head>') + '<head>'.length
    const end = html.indexOf('</head>')
    const files = JSON.parse(readFileSync(join(this.#directory!, pagesFile), 'utf8')) as Record<string, string[]>
    return {
      beforeBase: html.slice(0, base),
      afterBase: html.slice(base, end),
      afterHead: html.slice(end),
      linksOf: new Map(Object.entries(files).map(([page, names]) => [page, links(page, names)])),
    }
  }

  /** `npm run package` leaves out what is there compressed: few clients take nothing else. */
  #bytes(file: string): Buffer {
    const path = join(this.#directory!, file)
    return existsSync(path) ? readFileSync(path) : gunzipSync(readFileSync(`${path}.gz`))
  }

  #content(name: string, suffix: string, encoding?: string): FixedContent {
    const known = this.#read.get(name + suffix)
    if (known) return known
    const bytes = this.#bytes(name + suffix)
    const content = fixedContent(bytes, {
      ...pageHeaders,
      'content-type': types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
      // The hash of the content is in the name.
      'cache-control': name.startsWith('assets/') ? oneYear : 'no-cache',
      vary: 'accept-encoding',
      ...(encoding && { 'content-encoding': encoding }),
    })
    this.#read.set(name + suffix, content)
    return content
  }
}

/** The best first. */
const encodings = [
  ['.br', 'br'],
  ['.gz', 'gzip'],
] as const

/** `q=0` says no (RFC 9110, 12.5.3). */
function accepts(header: string, encoding: string): boolean {
  return header.split(',').some(one => {
    const [name, ...parameters] = one.split(';').map(part => part.trim().toLowerCase())
    return name === encoding && !parameters.some(part => /^q=0(\.0*)?$/.test(part))
  })
}

/** `keys` of `keys`, `model-hub` of `model_hub`, `overview` of nothing: the file of a page in `web/pages`. */
const pageOf = (path: string): string => (path === '' ? 'overview' : path.replaceAll('_', '-'))

/** Where one signs in there is no session to ask for. */
const pageOfStrangers = 'login'

function links(page: string, files: readonly string[]): string {
  const scripts = files.map(file => `<link rel="modulepreload" crossorigin href="./${file}">`)
  if (page !== pageOfStrangers) scripts.push('<link rel="preload" as="fetch" crossorigin href="../sign-in/session">')
  return scripts.join('')
}
