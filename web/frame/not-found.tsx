import { Link } from '@tanstack/react-router'
import { buttonClass } from '../components/button.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState } from '../components/states.tsx'
import { t } from '../strings/index.ts'

export function NotFound() {
  return (
    <Page title={t('error.notFound')}>
      <EmptyState
        title={t('error.notFound')}
        action={
          <Link to="/" className={buttonClass()}>
            {t('all.overview')}
          </Link>
        }
      >
        {t('error.notFoundHelp')}
      </EmptyState>
    </Page>
  )
}
