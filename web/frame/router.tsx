import type { QueryClient } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, redirect } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiError } from '../api/client.ts'
import { isNoSession, sessionQuery } from '../api/session.ts'
import { buttonClass } from '../components/button.tsx'
import { ErrorState } from '../components/states.tsx'
import { parseSearch, writeSearch } from '../lib/address.ts'
import { reloadWhenReached, whyNotLoaded } from '../lib/load-part.ts'
import { pagesPath } from '../lib/urls.ts'
import { t, textOf } from '../strings/index.ts'
import { NotFound } from './not-found.tsx'
import { routes } from './routes.ts'
import type { PageRoute } from './routes.ts'
import { Frame } from './frame.tsx'

/** The pages under their addresses. A page for signed-in persons leads to `/login` and comes back. */
export function makeRouter(client: QueryClient) {
  const root = createRootRoute({ component: Frame, notFoundComponent: NotFound })
  const pageOf = (page: PageRoute) =>
    createRoute({
      getParentRoute: () => root,
      path: page.path,
      component: lazyRouteComponent(() => page.load().catch(whyNotLoaded)),
      beforeLoad: async ({ location }) => {
        if (page.for === null) return
        if (page.isOpen && isNoSession(client.getQueryState(sessionQuery.queryKey)?.error)) return
        const session = await client.ensureQueryData(sessionQuery).catch((error: unknown) => {
          if (!isNoSession(error)) throw error
          if (page.isOpen) return null
          throw redirect({ to: '/login', search: { from: location.href } as never })
        })
        if (session && !page.for(session))
          throw new ApiError(t('error.pageOfOthers', { page: textOf(page.title) }), {
            status: 403,
          })
      },
    })
  return createRouter({
    routeTree: root.addChildren(routes.map(pageOf)),
    basepath: pagesPath,
    parseSearch,
    stringifySearch: writeSearch,
    defaultPreload: 'intent',
    // Pages keep their data in the query cache.
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    scrollToTopSelectors: ['main'],
    // Screen readers find a heading here as on every page.
    defaultErrorComponent: ({ error, reset }) => (
      <>
        <h1 className="sr-only">{t('error.pageHeading')}</h1>
        {error instanceof ApiError && error.status === 403 ? (
          <div className="flex flex-col items-center">
            <ErrorState error={error} />
            <Link to="/" className={buttonClass()}>
              {t('all.overview')}
            </Link>
          </div>
        ) : error instanceof ApiError && error.status === 0 ? (
          <Away error={error} />
        ) : (
          <ErrorState error={error} onRetry={reset} />
        )}
      </>
    ),
  })
}

/** In the place of a page whose file the gateway did not give: it comes when the gateway is back. */
function Away({ error }: { readonly error: ApiError }) {
  useEffect(reloadWhenReached, [])
  return (
    <>
      <ErrorState error={error} />
      <p role="status" className="text-center text-muted">
        {t('error.comesBack')}
      </p>
    </>
  )
}
