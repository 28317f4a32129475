/** How the pages are built. `bin/web.mjs` runs it for the gateway; `npm run web` serves them with live updates. */
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import type { Plugin } from 'vite'

/** The gateway that `npm run web` talks to. */
const gateway = process.env.MODELGATE_URL ?? 'http://127.0.0.1:4000'

/** What the gateway writes into the page: relative addresses start at `/ui/`. */
const baseElement = {
  name: 'base-element',
  apply: 'serve' as const,
  transformIndexHtml: () => [{ tag: 'base', attrs: { href: '/ui/' }, injectTo: 'head-prepend' as const }],
}

/** What most pages show, and needs nothing of Base UI. */
const plainComponents =
  'badge|chart-figure|facts|filter-bar|lazy-part|limits|meter|popup-class|report-error|search-field|' +
  'stacked-bars|table|values'
const plainParts = new RegExp(
  `lucide-react|@tanstack.(react-)?query|web.(api|lib)|components.(\\w+.)?(${plainComponents})[.]`,
)

/**
 * Few files, whose parts are needed together: each costs a request and a turn of the main thread. All that the pages
 * begin with is one of them. A group takes along what its modules import.
 */
const groups = [
  { name: 'first', tags: ['$initial' as const] },
  { name: 'parts', test: plainParts, minShareCount: 4 },
  { name: 'fields', test: /components.(\w+.)?(field|tabs)\./, minShareCount: 4 },
  {
    name: 'controls',
    test: /@base-ui|components.(\w+.)?(combobox|dialog|drawer|edit-form|menu|select)\./,
    minShareCount: 5,
  },
]

/**
 * Writes which files a page needs beside the first ones, by the name of its file: the gateway names them in the HTML,
 * so that they are on their way before a script runs.
 */
const pageFiles: Plugin = {
  name: 'page-files',
  apply: 'build',
  generateBundle(_, bundle) {
    const chunks = Object.values(bundle).filter(one => one.type === 'chunk')
    const withImports = (file: string, found = new Set<string>()): Set<string> => {
      const chunk = chunks.find(one => one.fileName === file)
      if (!chunk || found.has(file)) return found
      found.add(file)
      for (const one of chunk.imports) withImports(one, found)
      return found
    }
    const first = withImports(chunks.find(one => one.isEntry)!.fileName)
    const pages = chunks.flatMap(({ facadeModuleId, fileName }) => {
      const name = facadeModuleId?.match(/[\\/]web[\\/]pages[\\/]([\w-]+)\.tsx$/)?.[1]
      return name ? [[name, [...withImports(fileName)].filter(file => !first.has(file))] as const] : []
    })
    this.emitFile({ type: 'asset', fileName: 'pages.json', source: JSON.stringify(Object.fromEntries(pages)) })
  },
}

/** Found by the browser in the styles alone, the font would come after the first text and move it. */
const earlyFont: Plugin = {
  name: 'early-font',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(_, { bundle }) {
      const font = Object.keys(bundle ?? {}).find(file => /inter-latin-wght-normal-[^/]*\.woff2$/.test(file))!
      const attrs = { rel: 'preload', as: 'font', type: 'font/woff2', crossorigin: true, href: `./${font}` }
      return [{ tag: 'link', attrs, injectTo: 'head' }]
    },
  },
}

export default defineConfig(({ command }) => ({
  // Built addresses are relative: the pages work below any path prefix.
  base: command === 'serve' ? '/ui/' : './',
  plugins: [react(), tailwind(), baseElement, pageFiles, earlyFont],
  build: {
    target: 'es2022',
    // As data: URLs they would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups } } },
  },
  server: {
    proxy: {
      // Everything but the pages themselves. The gateway only takes changes from pages of its own origin.
      '^/(?!ui(/|$)|@|node_modules/)': {
        target: gateway,
        configure: proxy => proxy.on('proxyReq', request => request.setHeader('origin', gateway)),
      },
    },
  },
}))
