/** How the pages are built. `bin/web.mjs` runs it for the gateway; `npm run web` serves them with live updates. */
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The gateway that `npm run web` talks to. */
const gateway = process.env.MODELGATE_URL ?? 'http://127.0.0.1:4000'

/** What the gateway writes into the page: relative addresses start at `/ui/`. */
const baseElement = {
  name: 'base-element',
  apply: 'serve' as const,
  transformIndexHtml: () => [{ tag: 'base', attrs: { href: '/ui/' }, injectTo: 'head-prepend' as const }],
}

export default defineConfig(({ command }) => ({
  // Built addresses are relative: the pages work below any path prefix.
  base: command === 'serve' ? '/ui/' : './',
  plugins: [react(), tailwind(), baseElement],
  build: {
    target: 'es2022',
    // As data: URLs they would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    reportCompressedSize: false,
    // All that the first view waits for in one file: each further one costs a request and a turn of the main thread.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
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
