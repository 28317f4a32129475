import './styles/base.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError, onWarnings } from './api/client.ts'
import { sessionQuery } from './api/session.ts'
import { toast, Toasts } from './components/overlays/toast.tsx'
import { makeRouter } from './frame/router.tsx'
import { pageAt } from './frame/routes.ts'
import { pagesPath } from './lib/urls.ts'
import { loadStrings, t } from './strings/index.ts'

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // A gateway may be reached where the browser believes that there is no network; where it is not, that is said.
      networkMode: 'always',
      refetchOnReconnect: true,
      // A list that comes back shows what it had, and asks again behind it.
      staleTime: 10_000,
      // What a person did wrong stays wrong.
      retry: (count, error) => count < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
    },
    // What cannot be sent now fails now: it would be sent later, after the page was left, or never.
    mutations: { networkMode: 'always' },
  },
})

// Both are on their way while React and the router begin: they would ask for one after the other.
const page = pageAt(location.pathname.slice(pagesPath.length))
if (page?.for) void client.prefetchQuery(sessionQuery)
// Its error is shown where the router loads it again.
page?.load().catch(() => undefined)

// In the gateway's own words, which name fields, models and objects.
onWarnings(warnings => toast(t('all.warnings'), { description: warnings.join('\n'), kind: 'warning' }))

const router = makeRouter(client)

await loadStrings()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
